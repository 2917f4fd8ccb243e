import { CdpClosed, type CdpConnection, type CdpSession } from './cdp.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** What is left of a render that ended early must not reach the next one in the same tab. */
export function sessionUntilOver(session: CdpSession, isOver: () => boolean): CdpSession {
  return {
    ...session,
    send: (method, ...params) =>
      isOver() ? Promise.reject(new CdpClosed('the render is over')) : session.send(method, ...params),
  }
}

/** The same for the page's clock: time that a render takes after its end would be missing in the next one. */
export function clockUntilOver(clock: VirtualClock, isOver: () => boolean): VirtualClock {
  const over = () => Promise.reject(new CdpClosed('the render is over'))
  return {
    ...clock,
    pause: () => (isOver() ? over() : clock.pause()),
    grant: (...given) => (isOver() ? over() : clock.grant(...given)),
  }
}

/** The same for the sessions of what a page has started. */
export function connectionUntilOver(
  connection: CdpConnection,
  isOver: () => boolean,
): Pick<CdpConnection, 'session' | 'endSession'> {
  const session = (sessionId: string) => sessionUntilOver(connection.session(sessionId), isOver)
  return { session, endSession: connection.endSession }
}
