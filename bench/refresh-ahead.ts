/**
 * `node bench/refresh-ahead.ts [--pages 1000,10000,100000,1000000] [--runs 9]` times the search for stale pages. Four
 * in five pages were visited in the last 29 days. The worst case is nothing stale; `a few`: some in a thousand.
 */
import { parseArgs } from 'node:util'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { StaleFinder } from '@prepaint/pages/store/last-visits.ts'
import { withClient } from '@prepaint/postgres/connection.ts'
import pg from 'pg'
import { testDatabase } from '../test/support/database.ts'
import { machineLine, median } from './figures.ts'
import { markdownTable } from './markdown.ts'

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '1000,10000,100000,1000000' },
    runs: { type: 'string', default: '9' },
  },
})
const sizes = values.pages.split(',').map(Number)
const UNBOUNDED = { all: 1_000_000_000, piece: 1 }
const OLDEST_SECONDS = 80_000

const nowMs = Date.now()
const database = await testDatabase()
const pool = new pg.Pool({ ...database.connection, max: 1 })
try {
  // Without the limits of a node's connections, for filling.
  await withClient(database.connection, fill)
  const table: string[][] = []
  for (const [at, pages] of sizes.entries()) {
    for (const [what, freshSeconds] of [
      ['none', OLDEST_SECONDS * 2],
      ['a few', OLDEST_SECONDS * 0.998],
      ['a quarter', OLDEST_SECONDS * 0.75],
    ] as const) {
      const took: [number[], number[]] = [[], []]
      let found = 0
      for (let run = 0; run < Number(values.runs); run++) {
        for (const which of run % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
          const stalest = which === 0 ? new StaleFinder(UNBOUNDED) : new StaleFinder()
          const beganMs = performance.now()
          const { paths } = await stalest.find(pool, {
            domain: (at + 1) as DomainId,
            freshSeconds,
            limit: 20,
            nowMs,
          })
          took[which].push(performance.now() - beganMs)
          found = paths.length
        }
      }
      const ratio = median(took[0].map((ms, run) => took[1][run]! / ms)).toFixed(2)
      table.push([
        ...[pages.toLocaleString('en'), what, String(found)],
        ...[median(took[0]).toFixed(1), median(took[1]).toFixed(1), ratio],
      ])
    }
  }
  console.log(`${new Date(nowMs).toISOString().slice(0, 16)}, ${machineLine()}\n`)
  console.log(
    markdownTable(['pages', 'stale', 'found', 'all visits, ms', 'bounded, ms', 'pair by pair'], table, 2),
  )
} finally {
  await pool.end()
  await database.close()
}

async function fill(client: pg.Client): Promise<void> {
  await client.query(`insert into account (email, plan) values ('a@example.com', 'enterprise')`)
  for (const [at, pages] of sizes.entries()) {
    await client.query(
      `insert into domain (account_id, custom_domain, origin_url) values (1, $1, 'http://origin.example')`,
      [`d${at}.example`],
    )
    await client.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select $1, '/products/' || md5(n::text) || '/item-' || n, 200, '[]', decode(repeat('ab', 200), 'hex'), 4000, 'e',
              now() - ((n * 7919::bigint) % $3) * interval '1 second'
         from generate_series(1, $2::integer) n`,
      [at + 1, pages, OLDEST_SECONDS],
    )
    await client.query(
      `insert into last_visit select $1, '/products/' || md5(n::text) || '/item-' || n, 'Googlebot', 'search',
              now() - ((n * 31::bigint) % 2500000) * interval '1 second'
         from generate_series(1, $2::integer) n where n % 5 > 0`,
      [at + 1, pages],
    )
  }
  await client.query('vacuum analyze')
}
