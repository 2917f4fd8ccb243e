import { setTimeout as sleep } from 'node:timers/promises'

import { type Postmaster, type PostmasterOptions, startPostmaster } from './postmaster.ts'

export type SupervisedServer = {
  stop: Postmaster['stop']
}

const BACK_OFF_FIRST_MS = 100
const BACK_OFF_MAX_MS = 10_000

/**
 * Starts the server and keeps it running: when it ends without having been
 * asked to, it is started again, with back-off, for as long as this process
 * lives. The first start is the caller's to know about: its failure rejects.
 */
export async function superviseServer(options: PostmasterOptions): Promise<SupervisedServer> {
  const { log } = options
  const stopping = new AbortController()
  let current = await startPostmaster(options)

  async function keep(): Promise<void> {
    let backOffMs = BACK_OFF_FIRST_MS
    for (;;) {
      const { status, lastWords } = await current.ended
      if (stopping.signal.aborted) return
      log.error({ status, lastWords: lastWords.trim().slice(-500) }, 'PostgreSQL ended; starting it again')
      for (;;) {
        await sleep(backOffMs, undefined, { signal: stopping.signal }).catch(() => {})
        if (stopping.signal.aborted) return
        try {
          current = await startPostmaster(options)
          break
        } catch (error) {
          log.error({ err: (error as Error).message }, 'PostgreSQL could not be started again')
          backOffMs = Math.min(backOffMs * 2, BACK_OFF_MAX_MS)
        }
      }
      log.info('PostgreSQL runs again')
    }
  }
  const kept = keep()

  return {
    async stop(how) {
      stopping.abort()
      await current.stop(how)
      await kept
      // It may have been started again at the very moment of the call.
      await current.stop('now')
    },
  }
}
