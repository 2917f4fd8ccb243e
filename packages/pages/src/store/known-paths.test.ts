import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { BUFFER_LIMIT } from '@prepaint/postgres/buffered-writes.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { notifiedBy } from '../../../../test/support/database.ts'
import { columns, HOME, openQueue, paths } from '../../../../test/support/queue.ts'
import { countKnownPages, nextKnownPages, recordKnown } from './known-paths.ts'
import {
  LastVisits,
  removeOldVisits,
  StaleFinder,
  type VisitBounds,
  WRITTEN_AGAIN_MS,
} from './last-visits.ts'
import { deletePages } from './purge.ts'
import { parseVisited, VISITED_CHANNEL, VisitedNotices } from './visited-notices.ts'

const queue = await openQueue()
const domain = await queue.domain()

const { pool, store } = queue
beforeEach(() => pool.query('truncate last_visit'))
const DAY_MS = 86_400_000
const know = (domain: DomainId, source: 'crawler' | 'sitemap', paths: readonly string[], age = '1 day') =>
  pool.query(
    `insert into known_path (domain_id, path, source, seen_at)
     select $1, path, $2, now() - $4::interval from unnest($3::text[]) as path`,
    [domain, source, paths, age],
  )

/** All known paths, as a run walks through them. */
async function walk(domain: DomainId, limit: number): Promise<PagePath[]> {
  const found: PagePath[] = []
  for (;;) {
    const batch = await nextKnownPages(pool, domain, found.at(-1) ?? '', limit)
    assert(batch.length <= limit)
    found.push(...columns(batch, 'path').flat())
    if (batch.length < limit) return found
  }
}

describe('known paths', () => {
  // Proves decided "Purged paths"
  it('a stored path stays known, also when it is purged at once', async () => {
    const domain = await queue.domain()
    await store(domain, ['/a', '/b/1', '/b/2', '/c'])
    await know(domain, 'crawler', ['/c'], '31 days')
    await pool.query(`update page set status = 404 where domain_id = $1 and path = '/b/2'`, [domain])
    assert.equal(await queue.purge(domain, { kind: 'path', path: '/a' as PagePath }), 1)
    assert.equal(await queue.purge(domain, { kind: 'prefix', prefix: '/b/' }), 2)
    await deletePages(pool, domain, { kind: 'paths', paths: ['/c' as PagePath] }, 'refresh')
    assert.deepEqual(await walk(domain, 10), ['/a', '/b/1', '/c'], 'but for what is no page')
  })

  // Proves interface 4.3/7
  it('known paths are stored, in sitemaps, or were asked for in the last 30 days, each once and in order', async () => {
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
    assert.equal(await countKnownPages(pool, domain), 6)
    assert.deepEqual(await walk(await queue.domain(), 5), [])
    assert.equal(await countKnownPages(pool, await queue.domain()), 0)
  })
})

it('paths that crawlers ask for are written again once their row is older than a day', async () => {
  // A domain that is gone costs the others of the batch nothing.
  const known = [pageId(999_999 as DomainId, HOME), pageId(domain, HOME), pageId(domain, HOME)]
  const record = (nowMs: number) => recordKnown(queue.pool, 'crawler', known, nowMs)
  const seenAtMs = async () => {
    const sql = `select seen_at from known_path where source = 'crawler' and domain_id = $1`
    return (await queue.column<Date>(sql, domain)).map(Number)
  }
  await record(1_000)
  await record(1_000 + DAY_MS)
  assert.deepEqual(await seenAtMs(), [1_000])
  await record(1_001 + DAY_MS)
  assert.deepEqual(await seenAtMs(), [1_001 + DAY_MS])
})

const visit = (path: string, crawler: string, atMs: number, of = domain) => ({
  ...{ page: pageId(of, path as PagePath), crawler, category: 'search' as const, atMs },
})
const start = (remembered?: number) =>
  new LastVisits(pool, new VisitedNotices(pool, silentLog()), silentLog(), { remembered })
const stored = () =>
  queue.column<string>(
    `select concat_ws(' ', path, crawler, extract(epoch from visited_at)::integer) from last_visit order by path`,
  )

describe('last visits', () => {
  it('the last visit of each page is written; an older one of another node does not replace it, and one of a deleted domain is dropped', async () => {
    const [one, other] = [start(), start()]
    one.note(visit('/gone', 'Googlebot', 1_000, 987_654 as DomainId))
    one.note(visit('/b', 'Bingbot', 1_000))
    one.note(visit('/a', 'Bingbot', 1_000))
    one.note(visit('/a', 'Googlebot', 3_000))
    await one.flush()
    other.note(visit('/a', 'GPTBot', 2_000))
    other.note(visit('/b', 'GPTBot', 2_000))
    await other.close()
    assert.deepEqual(await stored(), ['/a Googlebot 3', '/b GPTBot 2'])
  })

  it('visits in memory are bounded, and a failed write loses only what waited', async () => {
    const visits = start()
    await pool.query('alter table last_visit rename to elsewhere')
    visits.note(visit('/lost', 'Googlebot', 1_000))
    await visits.flush()
    await pool.query('alter table elsewhere rename to last_visit')
    for (let n = 0; n <= BUFFER_LIMIT; n++) visits.note(visit(`/${n}`, 'Googlebot', 1_000))
    visits.note(visit('/7', 'GPTBot', 2_000))
    await visits.flush()
    const lines = await stored()
    assert.equal(lines.length, BUFFER_LIMIT)
    assert(lines.includes('/7 GPTBot 2') && !lines.includes(`/${BUFFER_LIMIT} Googlebot 1`))
  })

  it('a page is written again by the same node an hour after it was written, and not before', async () => {
    const visits = start()
    visits.note(visit('/a', 'Googlebot', 1_000))
    await visits.flush()
    visits.note(visit('/a', 'Bingbot', 1_000 + WRITTEN_AGAIN_MS - 1))
    await visits.flush()
    assert.deepEqual(await stored(), ['/a Googlebot 1'])
    visits.note(visit('/a', 'GPTBot', 1_000 + WRITTEN_AGAIN_MS))
    await visits.flush()
    assert.deepEqual(await stored(), ['/a GPTBot 3601'])
  })

  it('a page whose visit could not be written is written at its next visit', async () => {
    const visits = start()
    await pool.query('alter table last_visit rename to elsewhere')
    visits.note(visit('/a', 'Googlebot', 1_000))
    await visits.flush()
    await pool.query('alter table elsewhere rename to last_visit')
    visits.note(visit('/a', 'Bingbot', 2_000))
    await visits.flush()
    assert.deepEqual(await stored(), ['/a Bingbot 2'])
  })

  it('beyond the limit of remembered pages, the one that was visited least recently is forgotten and written again', async () => {
    const visits = start(2)
    for (const path of ['/a', '/b']) visits.note(visit(path, 'Googlebot', 1_000))
    await visits.flush()
    visits.note(visit('/a', 'Bingbot', 2_000))
    visits.note(visit('/c', 'Googlebot', 2_000))
    await visits.flush()
    for (const path of ['/a', '/b', '/c']) visits.note(visit(path, 'GPTBot', 3_000))
    await visits.flush()
    assert.deepEqual(await stored(), ['/a Googlebot 1', '/b GPTBot 3', '/c Googlebot 2'])
  })

  // Proves decided "Last crawler of a page"
  it('visits of more than 30 days ago are removed', async () => {
    await pool.query(
      `insert into last_visit values ($1, '/old', 'a', 'ai', now() - interval '30 days 1 minute'),
                                     ($1, '/kept', 'a', 'ai', now() - interval '29 days 23 hours')`,
      [domain],
    )
    assert.equal(await removeOldVisits(pool), 1)
    assert.equal((await stored())[0]?.split(' ')[0], '/kept')
  })
})

// Proves decided "Events of visits"
it('any number of domains is told, each once, 500 at a time', async () => {
  const ids = Array.from({ length: 1_001 }, (_, at) => (2_147_482_000 + at) as DomainId)
  const told = await notifiedBy(queue, [VISITED_CHANNEL], async () => {
    const visited = new VisitedNotices(pool, silentLog())
    visited.add([])
    visited.add([...ids, ...ids])
    await visited.close()
  })
  const parts = told.map((payload) => parseVisited(payload)!)
  assert.deepEqual(parts.map(({ length }) => length).sort(), [1, 500, 500])
  assert.deepEqual(parts.flat().sort(), ids)
})

const FRESH_SECONDS = 86_400
const PAGES = 60
const LARGE: VisitBounds = { all: 40, piece: 10 }
const nowMs = Date.now()

/** Page `n` was asked for `n` hours ago; `stale` ones are two days old, all others are new. */
async function site(stale: readonly number[]): Promise<DomainId> {
  const domain = await queue.domain()
  await queue.store(domain, paths(PAGES))
  await queue.visited(domain, PAGES)
  await render(domain, stale, 48)
  return domain
}

async function render(domain: DomainId, pages: readonly number[], hoursAgo = 0): Promise<void> {
  await pool.query(
    `update page set rendered_at = now() - make_interval(hours => $3)
      where domain_id = $1 and path = any (select '/p' || n from unnest($2::integer[]) n)`,
    [domain, pages, hoursAgo],
  )
}

async function look(stalest: StaleFinder, domain: DomainId, limit = 3): Promise<[number[], boolean]> {
  const { paths, isMore } = await stalest.find(pool, { domain, freshSeconds: FRESH_SECONDS, limit, nowMs })
  return [paths.map((path) => Number(path.slice(2))), isMore]
}

describe('the stalest pages', () => {
  it('stale pages come from the newest visits while these have enough of them', async () => {
    const domain = await site([1, 2, 5, 30, 50])
    assert.deepEqual(await look(new StaleFinder(LARGE), domain, 3), [[1, 2, 5], true])
    const whole = new StaleFinder({ all: PAGES, piece: 10 })
    assert.deepEqual(await look(whole, domain, 20), [[1, 2, 5, 30, 50], false])
  })

  it('stale pages of a large site are found a piece at a time behind the newest visits, and all of them in a round', async () => {
    const domain = await site([0, 9, 10, 19, 33, 34, 35, 36, 59])
    const stalest = new StaleFinder(LARGE)
    const looks: [string, boolean][] = []
    for (let n = 0; n < 11; n++) {
      const [found, isMore] = await look(stalest, domain)
      looks.push([found.join(' '), isMore])
      await render(domain, found)
    }
    // The newest ten and ten behind them, then ten at a time; a piece that had results is looked at again.
    const round = ['0 9 10', '19', '', '', '33 34 35', '36', '', '', '59', '']
    assert.deepEqual(looks, [...round.map((found, at) => [found, at < 9]), ['', true]])
  })
})

it('domains with visits are told at once, and then once in five seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let seconds = 100
  const told: unknown[] = []
  const query = async (_text: string, [domains]: unknown[]) => void told.push(domains)
  const visited = new VisitedNotices({ query } as never, silentLog(), () => seconds)
  const pass = (ms: number) => {
    seconds += ms / 1_000
    t.mock.timers.tick(ms)
  }
  visited.add([1, 2] as DomainId[])
  pass(0)
  assert.deepEqual(told, [[1, 2]])
  visited.add([2] as DomainId[])
  visited.add([3] as DomainId[])
  pass(4_999)
  assert.equal(told.length, 1)
  pass(1)
  assert.deepEqual(told[1], [2, 3])
  pass(5_000)
  visited.add([4] as DomainId[])
  pass(0)
  assert.deepEqual(told[2], [4])
})

it('closing tells of the visits that wait, after those that are being told', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const held = Promise.withResolvers<void>()
  const told: unknown[] = []
  const query = async (_text: string, [domains]: unknown[]) => {
    await held.promise
    told.push(domains)
  }
  const visited = new VisitedNotices({ query } as never, silentLog())
  visited.add([1] as DomainId[])
  t.mock.timers.tick(0)
  visited.add([2] as DomainId[])
  const closing = visited.close()
  held.resolve()
  await closing
  assert.deepEqual(told, [[1], [2]])
  visited.add([3] as DomainId[])
  t.mock.timers.tick(10_000)
  assert.equal(told.length, 2)
})
