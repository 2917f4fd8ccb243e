import pg from 'pg'

import { DEFAULT_PLANS } from '../../src/accounts/plans.ts'
import { systemClock } from '../../src/clock.ts'
import { createListener } from '../../src/db/listener.ts'
import { createLog } from '../../src/log.ts'
import type { WorkerOptions } from '../../src/queue/jobs/worker.ts'
import { startWorker } from '../../src/queue/jobs/worker.ts'
import type { RenderOutcome } from '../../src/render/outcome.ts'

// A worker to be killed. Prints rendered paths, logs to stderr. Renders end on `release`; it ends with its stdin.

const { connection, options, html } = JSON.parse(process.argv[2]!) as {
  connection: pg.ClientConfig
  options: WorkerOptions
  html: string
}
const log = createLog('info')
const { promise, resolve } = Promise.withResolvers<RenderOutcome>()

await startWorker(
  {
    pool: new pg.Pool(connection).on('error', () => {}),
    connection,
    notifications: await createListener(connection, log),
    canRender: () => true,
    plans: DEFAULT_PLANS,
    clock: systemClock,
    log,
    async render({ path }) {
      process.stdout.write(`${path}\n`)
      return { outcome: await promise, record: null }
    },
  },
  options,
)
process.stdout.write('started\n')
process.stdin.on('data', () => resolve({ kind: 'rendered', status: 200, headers: [], html }))
process.stdin.on('end', () => process.exit(0))
