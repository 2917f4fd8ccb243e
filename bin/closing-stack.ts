import type { Log } from '../src/log.ts'

type Close = (deadline: AbortSignal) => Promise<void>

/**
 * What was opened, in order; closed in reverse. One part that fails to close
 * is logged and keeps none of the others open.
 */
export function createClosingStack(log: Log): {
  add(what: string, close: Close): void
  closeAll(deadline: AbortSignal): Promise<void>
} {
  const opened: { what: string; close: Close }[] = []
  return {
    add: (what, close) => opened.push({ what, close }),
    async closeAll(deadline) {
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
