import type { Protocol } from 'devtools-protocol'

import type { CdpSession } from './cdp.ts'

/** A transparent GIF of one pixel: the page sees its images load, none is downloaded. */
const PIXEL = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
const PIXEL_HEADERS = [
  { name: 'content-type', value: 'image/gif' },
  { name: 'access-control-allow-origin', value: '*' },
]

/**
 * Lets go of a request that `Fetch.enable` held. Images load at once and
 * without a byte: a failure would make pages show their fallback for it.
 * Fonts and media fail, as with a visitor who blocks them.
 */
export function answerPaused(session: CdpSession, paused: Protocol.Fetch.RequestPausedEvent): void {
  const { requestId, resourceType } = paused
  void settle().catch(() => {
    // The page went away meanwhile, and its requests with it.
  })

  function settle(): Promise<unknown> {
    const isMainAnswerRefused = paused.responseErrorReason !== undefined
    if (resourceType === 'Image') {
      return session.send('Fetch.fulfillRequest', {
        requestId,
        responseCode: 200,
        responseHeaders: PIXEL_HEADERS,
        body: PIXEL,
      })
    }
    if (resourceType === 'Document' || isMainAnswerRefused) {
      return session.send('Fetch.continueRequest', { requestId })
    }
    return session.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' })
  }
}

/** Ends a request for good: nothing is followed, parsed or downloaded. */
export function stopPaused(session: CdpSession, { requestId }: Protocol.Fetch.RequestPausedEvent): void {
  void session.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }).catch(() => {})
}
