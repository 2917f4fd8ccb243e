import type { Clock } from '../../src/clock.ts'
import type { Log } from '../../src/log.ts'

/** The one moment by which everything is to be closed, made when closing begins and handed to each part. */
export type Deadline = {
  /** Aborts at that moment. */
  signal: AbortSignal
  /** From now; never negative. */
  remainingMs(): number
}

type Close = (deadline: Deadline) => Promise<void>

/**
 * What was opened, in order; closed in reverse. One part that fails to close
 * is logged and keeps none of the others open.
 */
export function createClosingStack(deps: { clock: Clock; log: Log }): {
  add(what: string, close: Close): void
  closeAll(withinMs: number): Promise<void>
} {
  const { clock, log } = deps
  const opened: { what: string; close: Close }[] = []
  return {
    add: (what, close) => opened.push({ what, close }),
    async closeAll(withinMs) {
      const endMs = clock.nowMs() + withinMs
      const deadline: Deadline = {
        signal: AbortSignal.timeout(withinMs),
        remainingMs: () => Math.max(0, endMs - clock.nowMs()),
      }
      for (let part = opened.pop(); part !== undefined; part = opened.pop()) {
        try {
          log.debug({ part: part.what }, 'closing')
          await part.close(deadline)
        } catch (error) {
          log.error({ err: error, part: part.what }, 'did not close')
        }
      }
    },
  }
}
