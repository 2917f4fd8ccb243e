/** The server process of bench/api.ts: the API over a private PostgreSQL. Uses IPC. Its memory is measured alone. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createApiServer } from '@prepaint/api/server.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { openDatabase } from '@prepaint/postgres/database.ts'
import { createListener } from '@prepaint/postgres/listener.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { findKeyOwner } from '@prepaint/service/accounts/access.ts'
import { createAccount } from '@prepaint/service/accounts/accounts.ts'
import { createKey } from '@prepaint/service/accounts/keys.ts'
import { SCHEMA } from '../bin/node/schema.ts'
import { standInParts, TEST_OPTIONS } from '../test/support/api-parts.ts'

export type Order =
  | { order: 'watch-memory' }
  | { order: 'memory' }
  | { order: 'key-checks'; count: number }
  | { order: 'end' }

export type Ready = { url: string; key: string; postgres: string }
/** Bytes above the use at `watch-memory`: the peak, and what is left after a collection. */
export type Memory = { peak: number; left: number }

const LIST_SIZES = [1_000, 10_000, 50_000, 200_000]
const listDomain = (size: number) => `list-${size}.example.com`

const log = silentLog()
const dataDir = await mkdtemp(path.join(tmpdir(), 'prepaint-bench-'))
// As root, PostgreSQL runs as another user, who must be able to enter this directory.
await chmod(dataDir, 0o711)
const database = await openDatabase({ databaseUrl: null, dataDir, log })
const { pool } = database
await migrate(database.connection, SCHEMA, log)
const listener = await createListener(database.connection, log)

const account = await createAccount(pool, DEFAULT_PLANS, {
  email: 'bench@example.com',
  plan: 'enterprise',
  password: null,
})
const now = { plans: DEFAULT_PLANS, nowMs: systemClock.nowMs() }
const { key } = await createKey(pool, account.id, { name: 'bench', expiresAt: null }, now)
await pool.query(
  `insert into domain (account_id, custom_domain, origin_url)
   select $1, 'd' || n || '.example.com', 'https://origin.example.com' from generate_series(1, 1000) n`,
  [account.id],
)
for (const size of LIST_SIZES) {
  await pool.query(
    `with d as (insert into domain (account_id, custom_domain, origin_url, is_active)
                values ($1, $2, 'https://origin.example.com', false) returning id)
     insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select d.id, '/shop/category-' || n % 97 || '/a-product-with-a-name-of-usual-length-' || n,
            200, '{}', decode(repeat('ab', 200), 'hex'), 400, 'e', now()
     from d, generate_series(1, $3) n`,
    [account.id, listDomain(size), size],
  )
}
await pool.query('analyze')

const app = await createApiServer(
  { ...standInParts(pool, systemClock), caughtUp: listener.caughtUp },
  TEST_OPTIONS,
)
await app.listen({ host: '127.0.0.1', port: 0 })

let base = 0
let peak = 0
setInterval(() => {
  peak = Math.max(peak, used())
}, 2)

process.on('message', (message: Order) => void obey(message))
const { rows } = await pool.query<{ server_version: string }>('show server_version')
const port = (app.server.address() as AddressInfo).port
tell({ url: `http://127.0.0.1:${port}`, key, postgres: rows[0]!.server_version } satisfies Ready)

async function obey(message: Order): Promise<void> {
  switch (message.order) {
    case 'watch-memory':
      collect()
      base = used()
      peak = base
      return tell(base)
    case 'memory': {
      const most = peak
      collect()
      return tell({ peak: most - base, left: used() - base } satisfies Memory)
    }
    case 'key-checks': {
      const times: number[] = []
      for (let n = 0; n < message.count; n++) {
        const start = performance.now()
        await findKeyOwner(pool, key, systemClock.nowMs())
        times.push(performance.now() - start)
      }
      return tell(times)
    }
    case 'end':
      await app.close()
      await listener.close()
      await database.close()
      await rm(dataDir, { recursive: true, force: true })
      process.exit(0)
  }
}

function tell(message: unknown): void {
  process.send?.(message)
}

function used(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function collect(): void {
  for (let n = 0; n < 3; n++) globalThis.gc?.()
}
