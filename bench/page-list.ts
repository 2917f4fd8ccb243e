/** Times lists of a domain's pages in every order and with searches: `node bench/page-list.ts [pages = 1000000]`. */

import type { DomainId } from '@prepaint/contract/ids.ts'
import { DEFAULT_DOMAIN_SETTINGS } from '@prepaint/contract/settings/domain-settings.ts'
import {
  countPages,
  type ListPlace,
  type ListWanted,
  listPages,
  PAGE_ORDERS,
  pageMatch,
} from '@prepaint/pages/store/list-pages.ts'
import { withClient } from '@prepaint/postgres/connection.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { testDatabase } from '../test/support/database.ts'

const pages = Number(process.argv[2] ?? 1_000_000)
const explains = process.argv.includes('--explain')
const database = await testDatabase()
const { pool } = database
try {
  await pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
  await pool.query(
    `insert into domain (account_id, custom_domain, origin_url)
     select 1, name, 'http://origin.example' from unnest(array['large.example', 'small.example']) as name`,
  )
  // Without the limits of a node's connections, for filling.
  await withClient(database.connection, async (client) => {
    for (const [domain, count] of [
      [1, pages],
      [2, 1_000],
    ]) {
      await client.query(
        `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
         select $1, '/products/' || md5(n::text) || '/item-' || n, case when n % 50 = 0 then 404 else 200 end, '[]', '\\x00',
                (n * 7919::bigint) % 200000, 'e', now() - n * interval '1 second'
           from generate_series(1, $2) n`,
        [domain, count],
      )
      await client.query(
        `insert into last_visit select $1, '/products/' || md5(n::text) || '/item-' || n, 'Googlebot', 'search',
                now() - ((n * 31) % 100000) * interval '1 second'
           from generate_series(1, $2) n where n % 2 = 0`,
        [domain, count],
      )
      await client.query(
        `insert into last_render select $1, '/products/' || md5(n::text) || '/item-' || n,
                case when n % 20 = 0 then 'timed-out' else 'rendered' end, now()
           from generate_series(1, $2) n where n % 3 > 0`,
        [domain, count],
      )
    }
    await client.query('vacuum analyze')
  })
  const settings = DEFAULT_DOMAIN_SETTINGS
  const domain = { id: 1 as DomainId, settings }
  const ruled = {
    id: 1 as DomainId,
    settings: { ...settings, rules: [{ path: '/products/a*', fresh_seconds: 60 }] },
  }
  const base = { match: null, direction: 'asc', after: null, limit: 100, nowMs: Date.now() } as const
  const searches = [
    ['', null],
    ['prefix of many', pageMatch('prefix', '/products/a')],
    ['prefix of few', pageMatch('prefix', '/products/abcd')],
    ['part of many', pageMatch('contains', 'item-9')],
    ['part of one', pageMatch('contains', 'item-777777')],
    ['part of none', pageMatch('contains', 'nowhere')],
  ] as const
  const explained: Queryable = {
    query: (async (text: string, values: unknown[]) => {
      const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
        `explain (analyze, buffers) ${text}`,
        values,
      )
      for (const row of rows) process.stdout.write(`    ${row['QUERY PLAN']}\n`)
      return pool.query(text, values)
    }) as Queryable['query'],
  }
  const timed = async (name: string, of: typeof domain, wanted: ListWanted): Promise<ListPlace | null> => {
    const start = performance.now()
    const { pages: found, next } = await listPages(pool, of, wanted)
    const ms = (performance.now() - start).toFixed(1).padStart(8)
    process.stdout.write(`${ms} ms  ${String(found.length).padStart(3)} rows  ${name}\n`)
    if (explains) await listPages(explained, of, wanted)
    return next
  }
  for (const order of PAGE_ORDERS) {
    for (const direction of ['asc', 'desc'] as const) {
      for (const [what, match] of searches) {
        await timed(`${order} ${direction} ${what}`, domain, { ...base, order, direction, match })
      }
      // Far down the list, where an offset would have to count.
      let place: ListPlace | null = null
      for (let piece = 0; piece < 50; piece++) {
        const { next } = await listPages(pool, domain, {
          ...base,
          order,
          direction,
          limit: 1_000,
          after: place,
        })
        place = next
      }
      await timed(`${order} ${direction}, after 50,000`, domain, { ...base, order, direction, after: place })
    }
  }
  await timed('fresh_until asc with a rule', ruled, { ...base, order: 'fresh_until' })
  for (const [what, match] of searches) {
    const start = performance.now()
    const count = await countPages(pool, 1 as DomainId, match)
    process.stdout.write(
      `${(performance.now() - start).toFixed(1).padStart(8)} ms  count ${what}: ${count}\n`,
    )
  }
} finally {
  await database.close()
}
