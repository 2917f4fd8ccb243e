import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { until } from '../../test/support/condition.ts'
import { openQueue, paths } from '../../test/support/queue.ts'
import { BUFFER_LIMIT } from '../db/buffered-writes.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { silentLog } from '../log.ts'
import {
  createLastVisits,
  createStaleFinder,
  type FindStale,
  notifyVisited,
  parseVisited,
  removeOldVisits,
  VISITED_CHANNEL,
  type VisitBounds,
} from './last-visits.ts'
import { pageId } from './page-id.ts'

const queue = await openQueue()
const { pool } = queue
const domain = await queue.domain()
beforeEach(() => pool.query('truncate last_visit'))

const visit = (path: string, crawler: string, atMs: number, of = domain) => ({
  ...{ page: pageId(of, path as PagePath), crawler, category: 'search' as const, atMs },
})
const start = () => createLastVisits({ pool, log: silentLog() })
const stored = async () =>
  (
    await pool.query<{ path: string; crawler: string; at: number }>(
      'select path, crawler, extract(epoch from visited_at)::integer as at from last_visit order by path',
    )
  ).rows.map(({ path, crawler, at }) => `${path} ${crawler} ${at}`)

describe('last visits', () => {
  it('the last of each page is written, and an older one of another node does not replace it', async () => {
    const [one, other] = [start(), start()]
    one.note(visit('/b', 'Bingbot', 1_000))
    one.note(visit('/a', 'Bingbot', 1_000))
    one.note(visit('/a', 'Googlebot', 3_000))
    await one.flush()
    other.note(visit('/a', 'GPTBot', 2_000))
    other.note(visit('/b', 'GPTBot', 2_000))
    await other.close()
    assert.deepEqual(await stored(), ['/a Googlebot 3', '/b GPTBot 2'])
  })

  it('a domain that was deleted meanwhile costs the others nothing', async () => {
    const visits = start()
    visits.note(visit('/gone', 'Googlebot', 1_000, 987_654 as DomainId))
    visits.note(visit('/a', 'Googlebot', 1_000))
    await visits.flush()
    assert.deepEqual(await stored(), ['/a Googlebot 1'])
  })

  it('memory is bounded; a page that waits already is noted on', async () => {
    const visits = start()
    for (let n = 0; n < BUFFER_LIMIT; n++) visits.note(visit(`/${n}`, 'Googlebot', 1_000))
    visits.note(visit('/one-more', 'Googlebot', 1_000))
    visits.note(visit('/7', 'GPTBot', 2_000))
    await visits.flush()
    const lines = await stored()
    assert.equal(lines.length, BUFFER_LIMIT)
    assert(lines.includes('/7 GPTBot 2'))
    assert(!lines.some((line) => line.startsWith('/one-more ')))
  })

  it('is written by itself after a while, and a database that is away costs only what waited', async () => {
    const visits = createLastVisits({ pool, log: silentLog(), flushEveryMs: 1 })
    await pool.query('alter table last_visit rename to elsewhere')
    visits.note(visit('/lost', 'Googlebot', 1_000))
    await visits.flush()
    await pool.query('alter table elsewhere rename to last_visit')
    visits.note(visit('/a', 'Googlebot', 1_000))
    await until('it is written', async () => (await stored()).length > 0)
    assert.deepEqual(await stored(), ['/a Googlebot 1'])
    await visits.close()
  })

  // Proves decided "Last crawler of a page"
  it('those of more than 30 days ago are removed', async () => {
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
  const listener = await queue.listener()
  const told: string[] = []
  const { promise: all, resolve } = Promise.withResolvers<void>()
  listener.on(VISITED_CHANNEL, (payload) => {
    if (payload === '9') resolve()
    else told.push(payload)
  })
  await listener.settled()
  const ids = Array.from({ length: 1_001 }, (_, at) => (2_147_482_000 + at) as DomainId)
  await notifyVisited(pool, [])
  await notifyVisited(pool, [...ids, ...ids])
  await notifyVisited(pool, [9 as DomainId])
  await all
  const parts = told.map((payload) => parseVisited(payload)!)
  assert.deepEqual(parts.map(({ length }) => length).sort(), [1, 500, 500].sort())
  assert.deepEqual(parts.flat().sort(), ids)
})

it('what is no list of ids is none of this version', () => {
  assert.deepEqual(parseVisited('1,20'), [1, 20])
  for (const payload of ['', ',', '1,', 'x', '1;2', '-1']) assert.equal(parseVisited(payload), null, payload)
})

const HOUR_MS = 3_600_000
const FRESH_SECONDS = 86_400
const PAGES = 60
const LARGE: VisitBounds = { all: 40, piece: 10 }
const WHOLE: VisitBounds = { all: PAGES, piece: 10 }
const nowMs = Date.now()

/** Page `n` was asked for `n` hours ago; `stale` ones are two days old, all others are new. */
async function site(stale: readonly number[]): Promise<DomainId> {
  const domain = await queue.domain()
  await queue.store(domain, paths(PAGES))
  await pool.query(
    `insert into last_visit select $1, '/p' || n, 'Googlebot', 'search', now() - make_interval(hours => n)
       from generate_series(0, $2::integer - 1) n`,
    [domain, PAGES],
  )
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

async function look(stalest: FindStale, domain: DomainId, limit = 3): Promise<[number[], boolean]> {
  const { paths, isMore } = await stalest(pool, { domain, freshSeconds: FRESH_SECONDS, limit, nowMs })
  return [paths.map((path) => Number(path.slice(2))), isMore]
}

describe('the stalest pages', () => {
  it('of a large site are the same as of any other while the newest visits have enough of them', async () => {
    const domain = await site([1, 2, 5, 7, 8, 9, 30, 50])
    const [large, whole] = [createStaleFinder(LARGE), createStaleFinder(WHOLE)]
    for (const limit of [1, 2, 6]) {
      const [found] = await look(large, domain, limit)
      assert.deepEqual(found, [1, 2, 5, 7, 8, 9].slice(0, limit))
      assert.deepEqual((await look(whole, domain, limit))[0], found)
    }
    assert.deepEqual(await look(whole, domain, 20), [[1, 2, 5, 7, 8, 9, 30, 50], false])
  })

  it('of a large site are found a piece at a time, behind the newest, and all of them in a round', async () => {
    const domain = await site([0, 9, 10, 19, 33, 34, 35, 36, 59])
    const stalest = createStaleFinder(LARGE)
    const looks: [number[], boolean][] = []
    for (let n = 0; n < 12; n++) {
      const found = await look(stalest, domain)
      looks.push(found)
      await render(domain, found[0])
    }
    assert.deepEqual(looks, [
      // The newest ten and ten behind them.
      [[0, 9, 10], true],
      // Room for one there was, and there is another.
      [[19], true],
      [[], true],
      // 20 to 29.
      [[], true],
      [[33, 34, 35], true],
      [[36], true],
      [[], true],
      // 40 to 49, then the last.
      [[], true],
      [[59], true],
      [[], false],
      // From the newest on again.
      [[], true],
      [[], true],
    ])
  })

  it('what the queue has refused is found again', async () => {
    const domain = await site([15, 45])
    const stalest = createStaleFinder(LARGE)
    assert.deepEqual(await look(stalest, domain), [[15], true])
    assert.deepEqual(await look(stalest, domain), [[15], true])
  })

  it('what becomes stale among the newest comes first, however far a look has come', async () => {
    const domain = await site([])
    const stalest = createStaleFinder(LARGE)
    for (let n = 0; n < 3; n++) assert.deepEqual(await look(stalest, domain), [[], true])
    await render(domain, [4, 45], 48)
    assert.deepEqual(await look(stalest, domain), [[4, 45], true])
  })

  it('are never named twice, also when the newest have become fewer than they were', async () => {
    const domain = await site([25])
    const stalest = createStaleFinder(LARGE)
    assert.deepEqual(await look(stalest, domain), [[], true])
    // The place is behind 19; now the newest ten end with 25.
    await pool.query(
      `delete from last_visit where domain_id = $1 and path = any (select '/p' || n from generate_series(0, 15) n)`,
      [domain],
    )
    const wanted = { domain, freshSeconds: FRESH_SECONDS, limit: 3, nowMs: nowMs + HOUR_MS }
    assert.deepEqual((await stalest(pool, wanted)).paths, ['/p25'])
  })

  it('of sites at the bound are all looked at, of one past it a piece', async () => {
    const domain = await site([59])
    assert.deepEqual(await look(createStaleFinder({ all: PAGES, piece: 10 }), domain), [[59], false])
    assert.deepEqual(await look(createStaleFinder({ all: PAGES - 1, piece: 10 }), domain), [[], true])
    // Other domains have places of their own.
    const stalest = createStaleFinder({ all: PAGES - 1, piece: 25 })
    const other = await site([58])
    assert.deepEqual(await look(stalest, domain), [[], true])
    assert.deepEqual(await look(stalest, other), [[], true])
    assert.deepEqual(await look(stalest, other), [[58], true])
    assert.deepEqual(await look(stalest, domain), [[59], true])
  })
})
