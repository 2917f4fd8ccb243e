import { setTimeout as sleep } from 'node:timers/promises'

import { type Postmaster, type PostmasterOptions, startPostmaster } from './postmaster.ts'

type SupervisedServer = {
  stop: Postmaster['stop']
}

const BACK_OFF_FIRST_MS = 100
const BACK_OFF_MAX_MS = 10_000
/** A server that ran this long was well; its end begins a new story. */
const WELL_AFTER_MS = 60_000

/**
 * Starts the server and keeps it running: when it ends without having been
 * asked to, it is started again, with back-off, for as long as this process
 * lives. The first start is the caller's to know about: its failure rejects.
 */
export async function superviseServer(options: PostmasterOptions): Promise<SupervisedServer> {
  const { log } = options
  const stopping = new AbortController()
  let current = await startPostmaster(options)
  let restarting = false
  const kept = keep()

  async function keep(): Promise<void> {
    let backOffMs = BACK_OFF_FIRST_MS
    for (;;) {
      const well = setTimeout(() => {
        backOffMs = BACK_OFF_FIRST_MS
      }, WELL_AFTER_MS).unref()
      const { status, lastWords } = await current.ended
      clearTimeout(well)
      if (stopping.signal.aborted) return
      log.error({ status, lastWords: lastWords.trim().slice(-500) }, 'PostgreSQL ended; starting it again')
      restarting = true
      while (restarting) {
        await sleep(backOffMs, undefined, { signal: stopping.signal }).catch(() => {})
        // Without its watchdog, the former one may still run.
        if (stopping.signal.aborted) return current.stop()
        backOffMs = Math.min(backOffMs * 2, BACK_OFF_MAX_MS)
        restarting = !(await startAgain())
      }
    }
  }

  async function startAgain(): Promise<boolean> {
    try {
      current = await startPostmaster(options)
      if (stopping.signal.aborted) await current.stop()
      else log.info('PostgreSQL runs again')
      return true
    } catch (error) {
      log.error({ err: (error as Error).message }, 'PostgreSQL could not be started again')
      return false
    }
  }

  return {
    async stop() {
      stopping.abort()
      // A restart that is under way ends by itself; stopping it from here would look like a failed one.
      if (!restarting) await current.stop()
      await kept
    },
  }
}
