import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../test/support/condition.ts'
import { openQueue } from '../../test/support/queue.ts'
import { transaction } from '../db/transaction.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { silentLog } from '../log.ts'
import {
  countKnownPages,
  createAskedPaths,
  nextKnownPages,
  recordInSitemap,
  recordKnown,
} from './known-paths.ts'
import { pageId } from './page-id.ts'
import { AHEAD_FROM, deletePages, type PurgeWhat, purgeAhead, purgePages } from './purge.ts'

const queue = await openQueue()
const { store } = queue
const DAY_MS = 86_400_000
const know = (domain: DomainId, source: 'crawler' | 'sitemap', paths: readonly string[], age = '1 day') =>
  queue.pool.query(
    `insert into known_path (domain_id, path, source, seen_at)
     select $1, path, $2, now() - $4::interval from unnest($3::text[]) as path`,
    [domain, source, paths, age],
  )

/** All known paths, as a run walks through them. */
async function walk(domain: DomainId, limit: number): Promise<PagePath[]> {
  const found: PagePath[] = []
  for (;;) {
    const batch = (await nextKnownPages(queue.pool, domain, found.at(-1) ?? '', limit)).map(
      ({ path }) => path,
    )
    assert(batch.length <= limit)
    found.push(...batch)
    if (batch.length < limit) return found
  }
}

describe('known paths', () => {
  it('stay known from the moment that they were stored: also when they are purged at once', async () => {
    const domain = await queue.domain()
    const purge = (what: PurgeWhat) => transaction(queue.pool, (client) => purgePages(client, domain, what))
    await store(domain, ['/a', '/b/1', '/b/2', '/c'])
    await know(domain, 'crawler', ['/c'], '31 days')
    await queue.pool.query(`update page set status = 404 where domain_id = $1 and path = '/b/2'`, [domain])
    assert.equal(await purge({ kind: 'path', path: '/a' as PagePath }), 1)
    assert.equal(await purge({ kind: 'prefix', prefix: '/b/' }), 2)
    await transaction(queue.pool, (client) => deletePages(client, domain, ['/c' as PagePath]))
    assert.deepEqual(await walk(domain, 10), ['/a', '/b/1', '/c'], 'but for what is no page')
    const many = Array.from({ length: AHEAD_FROM + 1 }, (_, n) => `/many/${n}`)
    await store(domain, many)
    assert.equal(await purgeAhead(queue.pool, domain, { kind: 'all' }), AHEAD_FROM + 1)
    assert.equal(await countKnownPages(queue.pool, domain), AHEAD_FROM + 4)
  })

  // Proves interface 4.3/7
  it('are those that are stored, in sitemaps, or were asked for in the last 30 days; each once, in order', async () => {
    const [domain, other] = [await queue.domain(), await queue.domain()]
    await store(domain, ['/stored', '/both'])
    await know(domain, 'crawler', ['/asked', '/both', '/B'])
    await know(domain, 'crawler', ['/just'], '29 days 23 hours')
    await know(domain, 'crawler', ['/forgotten'], '30 days 1 hour')
    await know(domain, 'sitemap', ['/mapped', '/both', '/asked'], '100 days')
    await store(other, ['/other'])
    for (const limit of [1, 2, 3, 100]) {
      assert.deepEqual(await walk(domain, limit), ['/B', '/asked', '/both', '/just', '/mapped', '/stored'])
    }
    assert.equal(await countKnownPages(queue.pool, domain), 6)
    assert.deepEqual(await walk(await queue.domain(), 5), [])
    assert.equal(await countKnownPages(queue.pool, await queue.domain()), 0)
  })

  it('none is left out where many stand in two places', async () => {
    const domain = await queue.domain()
    const paths = Array.from({ length: 500 }, (_, n) => `/p${String(n).padStart(4, '0')}`)
    const some = (wanted: (n: number) => boolean) => paths.filter((_, n) => wanted(n))
    const [stored, asked] = [(n: number) => n % 3 === 0, (n: number) => n % 2 === 0]
    const mapped = (n: number) => asked(n) || n % 5 === 0 || n % 7 === 1
    await store(domain, some(stored))
    await know(domain, 'crawler', some(asked))
    await know(domain, 'sitemap', some(mapped))
    const known = some((n) => stored(n) || mapped(n))
    assert.deepEqual(await walk(domain, 7), known)
  })

  it('come with what is stored, page or redirect, and with what the sitemap says of their last change', async () => {
    const domain = await queue.domain()
    await store(domain, ['/page'])
    await queue.pool.query(
      `update page set rendered_at = '2026-01-02T00:00:00Z', stale_since = '2026-01-03T00:00:00Z' where domain_id = $1`,
      [domain],
    )
    await queue.pool.query(
      `insert into redirect (domain_id, path, status, location, stored_at)
       values ($1, '/moved', 301, '/to', '2026-01-04T00:00:00Z')`,
      [domain],
    )
    await know(domain, 'crawler', ['/moved', '/page'])
    const mapped = (path: string, changedAtMs: number | null) => ({ path: path as PagePath, changedAtMs })
    const entries = [mapped('/new', 1_000), mapped('/page', null), mapped('/new', 2_000)]
    await recordInSitemap(queue.pool, domain, entries, Date.now())
    const at = (iso: string) => Date.parse(`${iso}T00:00:00Z`)
    assert.deepEqual(await nextKnownPages(queue.pool, domain, '', 10), [
      {
        ...mapped('/moved', null),
        stored: { status: 301, renderedAtMs: at('2026-01-04'), staleSinceMs: null },
      },
      { ...mapped('/new', 2_000), stored: null },
      {
        ...mapped('/page', null),
        stored: { status: 200, renderedAtMs: at('2026-01-02'), staleSinceMs: at('2026-01-03') },
      },
    ])
    // Named again within a day: only a change that is told is written.
    await recordInSitemap(queue.pool, domain, [mapped('/new', 3_000)], Date.now())
    assert.equal((await nextKnownPages(queue.pool, domain, '/moved', 1))[0]?.changedAtMs, 3_000)
  })
})

const domain = await queue.domain()
describe('paths that crawlers ask for', () => {
  const id = (path: string, of = domain) => pageId(of, path as PagePath)
  async function seenAt(path: string): Promise<number | undefined> {
    const sql = `select seen_at from known_path where path = $1 and source = 'crawler' and domain_id = $2`
    const { rows } = await queue.pool.query<{ seen_at: Date }>(sql, [path, domain])
    return rows[0]?.seen_at.getTime()
  }

  it('are written again once their row is older than a day', async () => {
    const record = (nowMs: number) => recordKnown(queue.pool, 'crawler', [id('/a')], nowMs)
    await record(1_000)
    await record(1_000 + DAY_MS)
    assert.equal(await seenAt('/a'), 1_000)
    await record(1_001 + DAY_MS)
    assert.equal(await seenAt('/a'), 1_001 + DAY_MS)
  })

  it('of a domain that is gone cost the others of the batch nothing', async () => {
    const known = [id('/gone', 999_999 as DomainId), id('/still'), id('/still')]
    await recordKnown(queue.pool, 'crawler', known, 5_000)
    assert.deepEqual([await seenAt('/gone'), await seenAt('/still')], [undefined, 5_000])
  })

  it('are flushed by themselves', async () => {
    const asked = createAskedPaths({ db: queue.pool, nowMs: () => 0, log: silentLog(), flushEveryMs: 5 })
    asked.note(id('/by-itself'))
    await until('it is written', async () => (await seenAt('/by-itself')) !== undefined)
    await asked.close()
  })
})
