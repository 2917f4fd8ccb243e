import type pg from 'pg'

import type { Clock } from '../src/clock.ts'
import type { Config } from '../src/config.ts'
import type { Listener } from '../src/db/listener.ts'
import { startGateway } from '../src/gateway/gateway.ts'
import { startInspectionWorker } from '../src/lens/inspection-worker.ts'
import type { Log } from '../src/log.ts'
import { identityOf } from '../src/render/identity.ts'
import { createInspector } from '../src/render/inspector.ts'

/** Whoever wants to look at a page has it looked at here, in a browser that is started for it. */
export function wireInspections(deps: {
  config: Config
  pool: pg.Pool
  listener: Listener
  clock: Clock
  log: Log
  /** The name of this run of the node. */
  node: string
}): { close(): Promise<void> } {
  const { config, pool, listener, clock, log, node } = deps
  const inspector = createInspector({
    ...config.render,
    dataDir: config.dataDir,
    identity: identityOf(config),
    openGateway: () => startGateway({ allowed: config.allowedPrivateOrigins, log }),
    clock,
    log,
  })
  const worker = startInspectionWorker({ pool, notifications: listener, look: inspector.look, log }, { node })
  return {
    async close() {
      const closed = worker.close()
      await inspector.close()
      await closed
    },
  }
}
