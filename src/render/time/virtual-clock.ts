import type { CdpConnection, CdpListeners, CdpSession } from '../browser/cdp.ts'

/** A page that posts itself messages for ever leaves no moment in which the clock could jump: after so many tasks it does all the same. */
const TASKS_WITHOUT_TIME = 20_000

/** The clock stands while anything is loading, or never. */
export type Policy = 'pauseIfNetworkFetchesPending' | 'advance'

/** The virtual clock of one page's process, from its start to its end. */
export type VirtualClock = {
  /** The page's timers stop where they are. Asks Chromium only while time goes by. */
  pause(): Promise<void>
  /** Lets so much virtual time go by. Resolves at once; `expired` does when the time is used up. */
  grant(policy: Policy, budgetMs: number): Promise<{ expired: Promise<'expired'> }>
  /**
   * Uses up what a render that ended early was still granted. Chromium cannot take
   * time back: it would stop the next render when the rest of this one's is over.
   */
  drain(): Promise<void>
  /** Before each document, while the clock stands: that document is read as soon as it comes. See `ClockSession`. */
  renew(): Promise<void>
  /** For the session's `Emulation.virtualTimeBudgetExpired`. */
  budgetExpired(): void
}

export function createVirtualClock(session: ClockSession): VirtualClock {
  /** Grants whose end has not been told yet. */
  let open = 0
  let stands = false
  let tellExpired = () => {}
  const expires = () =>
    new Promise<'expired'>((resolve) => {
      tellExpired = () => resolve('expired')
    })

  return {
    async pause() {
      if (stands) return
      stands = true
      await session.send('Emulation.setVirtualTimePolicy', { policy: 'pause' })
    },
    async grant(policy, budgetMs) {
      const expired = expires()
      stands = false
      open++
      await session.send('Emulation.setVirtualTimePolicy', {
        policy,
        budget: budgetMs,
        maxVirtualTimeTaskStarvationCount: TASKS_WITHOUT_TIME,
      })
      return { expired }
    },
    async drain() {
      while (open > 0) {
        const expired = expires()
        // No budget: this adds nothing to what is open.
        await session.send('Emulation.setVirtualTimePolicy', { policy: 'advance' })
        await expired
      }
    },
    renew: session.renew,
    budgetExpired() {
      open--
      stands = open === 0
      tellExpired()
    },
  }
}

/**
 * A session of a page that speaks of nothing but its clock, and gives way to a
 * new one before each document. Chromium reads none of a document whose session
 * has last told the clock to stand: only when time is granted would it look for
 * scripts and style sheets, milliseconds after the document has come
 * (docs/decisions/0015-render-speed.md). What was said holds on when
 * whoever said it is gone, so the clock stands, and the document is read.
 */
type ClockSession = Pick<CdpSession, 'send'> & {
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
