import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { withClient } from '@prepaint/postgres/connection.ts'
import { openDatabase } from '@prepaint/postgres/database.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createAccount } from '@prepaint/service/accounts/accounts.ts'
import type pg from 'pg'

const HOUR_MS = 3_600_000
const DAYS = 14
const KINDS = [
  ['people', '', 'pass; not-a-crawler', 3],
  ['search', 'Googlebot', 'hit', 3],
  ['search', 'Googlebot', 'stale', 1],
  ['search', 'Googlebot', 'rendered', 1],
  ['search', 'Googlebot', 'pass; asset', 2],
  ['search', 'Googlebot', 'sitemap', 0.3],
  ['search', 'bingbot', 'hit', 1],
  ['search', 'bingbot', 'pass; timed-out', 0.1],
  ['ai', 'GPTBot', 'hit', 1],
  ['ai', 'GPTBot', 'rendered', 0.5],
  ['ai', 'ClaudeBot', 'stale', 0.5],
  ['seo', 'AhrefsBot', 'hit', 1],
] as const

export type SummaryStore = {
  pool: pg.Pool
  connection: pg.ClientConfig
  accounts: ReadonlyMap<number, AccountId>
  close(): Promise<void>
}

/** `lines`: average per domain and hour. Written hour by hour, as nodes do, so that a domain's rows lie apart. */
export async function openSummaryStore(given: {
  sizes: readonly number[]
  lines: number
  nowMs: number
}): Promise<SummaryStore> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'prepaint-bench-'))
  await chmod(dataDir, 0o711)
  const log = silentLog()
  const database = await openDatabase({ databaseUrl: null, dataDir, log })
  const { pool, connection } = database
  await migrate(connection, log)

  const accounts = new Map<number, AccountId>()
  for (const size of given.sizes) {
    const email = `of-${size}@example.com`
    const { id } = await createAccount(pool, DEFAULT_PLANS, { email, plan: 'enterprise', password: null })
    accounts.set(size, id)
    await pool.query(
      `insert into domain (account_id, custom_domain, origin_url, created_at)
       select $1, 'd' || n || '.of-' || $2::integer || '.example', 'https://origin.example', now() - interval '60 days'
         from generate_series(1, $2::integer) n`,
      [id, size],
    )
  }
  // Without the limits of a node's connections, for filling.
  await withClient(connection, (client) => fill(client, given))
  return {
    pool,
    connection,
    accounts,
    async close() {
      await database.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

async function fill(client: pg.Client, { lines, nowMs }: { lines: number; nowMs: number }): Promise<void> {
  const whole = KINDS.reduce((sum, [, , , share]) => sum + share, 0)
  await client.query('select setseed(0.5)')
  await client.query('set synchronous_commit = off')
  await client.query('create temporary table weight as select id, -ln(1 - random()) as weight from domain')
  const lastHour = Math.floor(nowMs / HOUR_MS)
  for (let hour = lastHour - DAYS * 24; hour <= lastHour; hour++) {
    await client.query(
      `insert into traffic_hour
       select w.id, $1, k.category, k.crawler, k.verdict, 1 + floor(random() * 50), 0, 0, 0, 0,
              array(select floor(random() * 9)::integer from generate_series(1, 12 + w.id % 12))
         from weight w, unnest($2::text[], $3::text[], $4::text[], $5::float8[]) as k (category, crawler, verdict, share)
        where random() < 1 - exp(-w.weight * k.share)
        order by w.id, k.category, k.crawler, k.verdict`,
      [
        new Date(hour * HOUR_MS),
        KINDS.map(([category]) => category),
        KINDS.map(([, crawler]) => crawler),
        KINDS.map(([, , verdict]) => verdict),
        KINDS.map(([, , , share]) => (share * lines) / whole),
      ],
    )
  }
  await client.query(
    `insert into traffic_day
     select domain_id, (hour at time zone 'UTC')::date as day, category, crawler, verdict,
            sum(visits), 0, 0, 0, 0, max(times)
       from traffic_hour group by 1, 2, 3, 4, 5 order by day, domain_id`,
  )
  await client.query(
    `insert into traffic_last select id, 'Googlebot', 'search', $1 from weight where random() < 0.9`,
    [new Date(nowMs)],
  )
  await client.query(
    `insert into render_day
     select w.id, day, 1 + floor(random() * 200)
       from generate_series($1::date - 60, $1::date, interval '1 day') as day, weight w where random() < 0.8`,
    [new Date(nowMs)],
  )
  await client.query(
    `insert into render_count
     select domain_id, date_trunc('month', day), sum(renders) from render_day group by 1, 2`,
  )
  await client.query('vacuum analyze')
}
