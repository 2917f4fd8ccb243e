import type { CdpListeners } from './cdp.ts'
import type { NetworkActivity } from './network-activity.ts'
import type { createReadySignal } from './ready-signal.ts'

/** What the page does and says, as Chromium reports it, told to those who judge when it is ready. */
export function activityListeners(
  activity: NetworkActivity,
  ready: ReturnType<typeof createReadySignal>,
): CdpListeners {
  return {
    'Network.requestWillBeSent': ({ requestId, request: { method, url, postData }, type = 'Other' }) =>
      activity.started(requestId, { method, url, postData, type }),
    'Network.dataReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.responseReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.eventSourceMessageReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.webSocketCreated': ({ requestId, url }) =>
      activity.started(requestId, { method: 'GET', url, type: 'WebSocket' }),
    'Network.webSocketHandshakeResponseReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.webSocketFrameSent': ({ requestId }) => activity.asked(requestId),
    'Network.webSocketFrameReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.webSocketClosed': ({ requestId }) => activity.finished(requestId),
    'Network.loadingFinished': ({ requestId }) => activity.finished(requestId),
    'Network.loadingFailed': ({ requestId }) => activity.finished(requestId),
    // Said by in-page/real-time.js, and by in-page/new-document.js of the page's own signals.
    'Runtime.bindingCalled': ({ payload }) => {
      const [verb, object = ''] = payload.split(' ', 2)
      if (verb === 'worker') activity.workerStarted()
      else if (verb === 'ended') activity.workerEnded(object)
      else if (verb === 'asked') activity.workerAsked()
      else if (verb === 'spoke') activity.workerSpoke()
      else if (verb === 'reading') activity.readBegan()
      else if (verb === 'read') activity.readEnded()
      else if (verb === 'draining') activity.drainBegan()
      else if (verb === 'drained') activity.drainEnded()
      else if (verb === 'busy') activity.workBegan()
      else if (verb === 'idle') activity.workEnded()
      else ready.hear(verb, object)
    },
  }
}
