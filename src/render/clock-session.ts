import type { CdpConnection, CdpListeners, CdpSession } from './cdp.ts'

/**
 * A session of a page that speaks of nothing but its clock, and gives way to a
 * new one before each document. Chromium reads none of a document whose session
 * has last told the clock to stand: only when time is granted would it look for
 * scripts and style sheets, milliseconds after the document has come
 * (docs/decisions/0035-the-wait-of-a-miss.md). What was said holds on when
 * whoever said it is gone, so the clock stands, and the document is read.
 */
export type ClockSession = Pick<CdpSession, 'send'> & {
  /** The clock must stand: nothing is heard of it meanwhile. Rejects when the page has gone. */
  renew(): Promise<void>
  /** Nobody waits for an answer any more. */
  end(): void
}

/** Rejects when the page has gone. `heard`: by each of the sessions. */
export async function openClockSession(
  cdp: Pick<CdpConnection, 'browser' | 'session' | 'endSession'>,
  targetId: string,
  heard: CdpListeners,
): Promise<ClockSession> {
  const attach = async () => {
    const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
    const session = cdp.session(sessionId)
    session.listen(heard)
    return { sessionId, session }
  }
  let current = await attach()
  return {
    send: (method, ...params) => current.session.send(method, ...params),
    async renew() {
      const { sessionId } = current
      current = await attach()
      await cdp.browser.send('Target.detachFromTarget', { sessionId })
      cdp.endSession(sessionId)
    },
    end: () => cdp.endSession(current.sessionId),
  }
}
