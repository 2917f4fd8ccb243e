import http from 'node:http'

import type pg from 'pg'

import { createApiServer } from '../src/api/server.ts'
import { systemClock } from '../src/clock.ts'
import type { Config } from '../src/config.ts'
import { openDatabase } from '../src/db/database.ts'
import { createListener } from '../src/db/listener.ts'
import { migrate } from '../src/db/migrate.ts'
import { createAddressGuard } from '../src/gateway/address-guard.ts'
import { checkOriginUrl } from '../src/gateway/origin-url.ts'
import type { Log } from '../src/log.ts'
import { createClosingStack } from './closing-stack.ts'
import { drainable } from './draining.ts'
import { listen } from './listen.ts'
import { createReadinessCheck } from './readiness.ts'

export type Node = {
  /** Where it listens, `http://host:port`; null where its roles do not include it. */
  api: string
  edge: string | null
  pool: pg.Pool
  close(): Promise<void>
}

/** How long what is under way may still take once we have been asked to end. */
const DRAIN_MS = 10_000
const NAME_SERVERS_WITHIN_MS = 5_000

export async function startNode({
  config,
  log,
  say,
}: {
  config: Config
  log: Log
  say(line: string): void
}): Promise<Node> {
  const opened = createClosingStack(log)
  let draining = false
  const close = async () => {
    draining = true
    await opened.closeAll(AbortSignal.timeout(DRAIN_MS))
  }
  try {
    const database = await openDatabase({
      databaseUrl: config.databaseUrl,
      dataDir: config.dataDir,
      log,
      onLongStep: say,
    })
    opened.add('database', () => database.close())
    const { pool, connection } = database
    await migrate(connection, log)

    const listener = await createListener(connection, log)
    opened.add('listener', () => listener.close())

    const guard = createAddressGuard(config.allowedPrivateOrigins)
    const checkReadiness = createReadinessCheck({ pool, renderer: null, isDraining: () => draining })

    const app = await createApiServer(
      {
        pool,
        plans: config.plans,
        clock: systemClock,
        log,
        checkOrigin: (raw) => checkOriginUrl(raw, guard, { timeoutMs: NAME_SERVERS_WITHIN_MS }),
        checkReadiness,
      },
      { version: config.version, publicUrl: config.publicUrl },
    )
    opened.add('API', () => app.close())
    const apiDrain = drainable(app.server)
    const api = await listen(app.server, { ...config.api, setting: 'PREPAINT_API' })
    opened.add('API server', apiDrain.drain)
    return { api, edge: null, pool, close }
  } catch (error) {
    await close()
    throw error
  }
}
