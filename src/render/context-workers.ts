import type { CdpListeners, CdpSession } from './cdp.ts'
import { ATTACH_SHARED_WORKERS } from './worker-watch.ts'

type Hearer = Pick<CdpListeners, 'Target.attachedToTarget' | 'Target.detachedFromTarget'>

/** Shared workers belong to no page: the browser tells of them, each to the page in whose context it was made. */
export type ContextWorkers = {
  /** Replaces what listened for this context before. A worker of which nobody hears stands still. */
  listen(browserContextId: string, hearer: Hearer): void
  /** The context is gone. */
  forget(browserContextId: string): void
}

/** The events of the browser's own session are heard here and nowhere else. */
export async function followContextWorkers(browser: CdpSession): Promise<ContextWorkers> {
  const hearers = new Map<string, Hearer>()
  /** By session: the end of a worker is told without its context. */
  const contexts = new Map<string, string>()
  browser.listen({
    'Target.attachedToTarget': (told) => {
      const { type, browserContextId } = told.targetInfo
      if (type !== 'shared_worker' || browserContextId === undefined) return
      contexts.set(told.sessionId, browserContextId)
      hearers.get(browserContextId)?.['Target.attachedToTarget']?.(told)
    },
    'Target.detachedFromTarget': (told) => {
      hearers.get(contexts.get(told.sessionId) ?? '')?.['Target.detachedFromTarget']?.(told)
      contexts.delete(told.sessionId)
    },
  })
  await browser.send('Target.setAutoAttach', ATTACH_SHARED_WORKERS)
  return {
    listen: (browserContextId, hearer) => void hearers.set(browserContextId, hearer),
    forget: (browserContextId) => void hearers.delete(browserContextId),
  }
}
