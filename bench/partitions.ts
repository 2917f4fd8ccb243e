/**
 * `node bench/partitions.ts [restore] [day] [--pages 100000] [--records 10000000] [--check] [--postgres 15]`
 * `restore`: restores a backup of whole tables into tables that are divided by domain: rows a second, and whether each page is there
 * once, by its key and etag. Then changes all pages of one partition, and looks at what autovacuum reads. `day`: drops a day of
 * records of renders. With `--check` the exit status is 1 if a page is lost or doubled, if autovacuum reads other partitions, or if
 * the day takes a second.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readBackup } from '@prepaint/postgres/backup/backup.ts'
import { restoreBackup } from '@prepaint/postgres/backup/restore.ts'
import { withClient } from '@prepaint/postgres/connection.ts'
import { createPool } from '@prepaint/postgres/database.ts'
import { dropDays, makeDays } from '@prepaint/postgres/day-partitions.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { SCHEMA } from '../bin/node/schema.ts'
import { machineLine } from './figures.ts'
import { MeasuredServer } from './measured-server.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pages: { type: 'string', default: '100000' },
    records: { type: 'string', default: '10000000' },
    check: { type: 'boolean', default: false },
    postgres: { type: 'string' },
  },
})
const PAGES = Number(values.pages)
const DOMAINS = 1_000
/** As PostgreSQL stores a page of a usual site without its body, and a small body. */
const BODY_BYTES = 2_000
const VACUUM_WITHIN_MS = 60_000
const RECORDS = { table: 'render_record', at: 'ended_at' }

const PARTS = { restore: measureRestore, day: measureDay }
const DROP_WITHIN_SECONDS = 1
const DAY_MS = 86_400_000
const wanted = positionals.length === 0 ? Object.keys(PARTS) : positionals

const log = silentLog()
const server = await MeasuredServer.start(values.postgres ?? null)
try {
  console.log(`${new Date().toISOString().slice(0, 10)}, PostgreSQL ${server.version}, ${machineLine()}\n`)
  for (const part of wanted) {
    const isGood = await PARTS[part as keyof typeof PARTS]()
    if (values.check && !isGood) process.exitCode = 1
  }
} finally {
  await server.close()
}

type Opened = { pool: pg.Pool; connection: pg.ClientConfig }

async function openDatabase(name: string): Promise<Opened> {
  const admin = createPool(server.connection, log, { few: 1, most: 1 })
  await admin.query(`create database ${name}`)
  await admin.end()
  const connection = { ...server.connection, database: name }
  return { pool: createPool(connection, log, { few: 2, most: 2 }), connection }
}

async function measureRestore(): Promise<boolean> {
  const [from, to] = [await openDatabase('whole'), await openDatabase('divided')]
  await migrate(from.connection, { ...SCHEMA, divided: [] }, log)
  await fill(from.pool)
  const beganMs = performance.now()
  const backup = readBackup(from.connection, { version: 'bench', masterKey: null, pages: true })
  const { rows } = await restoreBackup(to.connection, backup, SCHEMA, log)
  const seconds = (performance.now() - beganMs) / 1_000
  const restored = Object.values(rows).reduce((sum, count) => sum + count, 0)

  const [before, after] = [await etags(from.pool), await etags(to.pool)]
  const lost = [...before].filter(([key, etag]) => after.get(key)?.join() !== etag.join()).length
  const doubled = [...after.values()].filter(({ length }) => length > 1).length
  const { vacuumed, share } = await vacuumOfOne(to.pool)
  await Promise.all([from.pool.end(), to.pool.end()])

  console.log(
    `backup and restore: ${restored} rows, ${PAGES} of them pages, in ${seconds.toFixed(1)} s: ${Math.round(restored / seconds)} rows/s`,
  )
  console.log(`pages lost: ${lost}, doubled: ${doubled}`)
  console.log(
    `autovacuum after changes in one partition reads ${vacuumed.join(', ')}: ${(share * 100).toFixed(1)} % of the pages' bytes`,
  )
  return lost === 0 && doubled === 0 && after.size === PAGES && vacuumed.length === 1
}

/** Drops the day of yesterday, as retention does. */
async function measureDay(): Promise<boolean> {
  const { pool, connection } = await openDatabase('days')
  await migrate(connection, SCHEMA, log)
  const nowMs = Date.now()
  await makeDays(pool, RECORDS, nowMs - DAY_MS)
  await addDomains(pool)
  const count = Number(values.records)
  const step = 250_000
  for (let first = 0; first < count; first += step) {
    await pool.query(
      `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record, ended_at)
       select 1 + n % $3, '/page/' || n, gen_random_uuid(), 'rendered', 1, 1, '{"phases": {"settled": 100}}', $4
         from generate_series($1::integer, $2::integer) n`,
      [first, Math.min(first + step, count) - 1, DOMAINS, new Date(nowMs - DAY_MS)],
    )
  }
  // A day that is a week old was vacuumed long ago.
  await withClient(connection, (client) => client.query('vacuum analyze render_record'))
  const beganMs = performance.now()
  const dropped = await dropDays(pool, RECORDS, nowMs)
  const seconds = (performance.now() - beganMs) / 1_000
  const { rows } = await pool.query<{ left: number }>('select count(*)::integer as left from render_record')
  await pool.end()
  console.log(`a day of ${count} records goes in ${seconds.toFixed(2)} s; ${rows[0]!.left} are left`)
  return dropped === 1 && rows[0]!.left === 0 && seconds < DROP_WITHIN_SECONDS
}

async function addDomains(pool: pg.Pool): Promise<void> {
  await pool.query(
    `with owner as (insert into account (email, plan) values ('a@example.com', 'pro') returning id)
     insert into domain (account_id, custom_domain, origin_url)
     select owner.id, 'd' || n || '.example.com', 'http://origin.example.com' from owner, generate_series(1, $1::integer) n`,
    [DOMAINS],
  )
}

async function fill(pool: pg.Pool): Promise<void> {
  await addDomains(pool)
  const step = 10_000
  for (let first = 0; first < PAGES; first += step) {
    await pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select 1 + n % $3, '/page/' || n, 200, '[["content-type", "text/html"]]', $4::bytea, 9000, md5(n::text), now()
         from generate_series($1::integer, $2::integer) n`,
      [first, Math.min(first + step, PAGES) - 1, DOMAINS, Buffer.alloc(BODY_BYTES, 'x')],
    )
  }
  await pool.query(
    `insert into last_render select domain_id, path, 'rendered', now() from page;
     insert into last_visit select domain_id, path, 'Googlebot', 'search', now() from page;
     insert into known_path select domain_id, path, 'sitemap', now() from page`,
  )
}

/** The etags of each page's rows. */
async function etags(pool: pg.Pool): Promise<Map<string, string[]>> {
  const { rows } = await pool.query<{ key: string; etag: string }>(
    `select domain_id || ' ' || variant || ' ' || path as key, etag from page`,
  )
  const found = new Map<string, string[]>()
  for (const { key, etag } of rows) found.set(key, [...(found.get(key) ?? []), etag])
  return found
}

/** Returns the partitions of `page` that autovacuum has read, and their part of its bytes. */
async function vacuumOfOne(pool: pg.Pool): Promise<{ vacuumed: string[]; share: number }> {
  await pool.query('vacuum analyze page')
  await pool.query(`alter system set autovacuum_naptime = '1s'`)
  await pool.query('select pg_reload_conf(), pg_stat_reset()')
  await pool.query(`update page_0 set stale_since = now()`)
  const sql = `select relname as name, pg_table_size(relid)::float8 / (
                 select sum(pg_table_size(inhrelid)) from pg_inherits where inhparent = 'page'::regclass)::float8 as share
                 from pg_stat_user_tables where relname ~ '^page_\\d+$' and last_autovacuum is not null`
  const untilMs = performance.now() + VACUUM_WITHIN_MS
  let rows: { name: string; share: number }[] = []
  while (rows.length === 0 && performance.now() < untilMs) {
    await sleep(1_000)
    rows = (await pool.query<{ name: string; share: number }>(sql)).rows
  }
  return { vacuumed: rows.map(({ name }) => name), share: rows.reduce((sum, row) => sum + row.share, 0) }
}
