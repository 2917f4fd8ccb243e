import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type TestQueue, testQueue } from '../../test/support/queue.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { createStaleFinder, type FindStale, type VisitBounds } from './last-visits.ts'

const HOUR_MS = 3_600_000
const FRESH_SECONDS = 86_400
const PAGES = 60
const LARGE: VisitBounds = { all: 40, piece: 10 }
const WHOLE: VisitBounds = { all: PAGES, piece: 10 }
const nowMs = Date.now()

let queue: TestQueue
before(async () => {
  queue = await testQueue()
})
after(() => queue.close())

/** Page `n` was asked for `n` hours ago; `stale` ones are two days old, all others are new. */
async function site(stale: readonly number[]): Promise<DomainId> {
  const domain = await queue.domain({ plan: 'enterprise' })
  await queue.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select $1, '/p' || n, 200, '[]', '', 0, 'e', now() from generate_series(0, $2::integer - 1) n`,
    [domain, PAGES],
  )
  await queue.pool.query(
    `insert into last_visit select $1, '/p' || n, 'Googlebot', 'search', now() - make_interval(hours => n)
       from generate_series(0, $2::integer - 1) n`,
    [domain, PAGES],
  )
  await render(domain, stale, 48)
  return domain
}

async function render(domain: DomainId, pages: readonly number[], hoursAgo = 0): Promise<void> {
  await queue.pool.query(
    `update page set rendered_at = now() - make_interval(hours => $3)
      where domain_id = $1 and path = any (select '/p' || n from unnest($2::integer[]) n)`,
    [domain, pages, hoursAgo],
  )
}

async function look(stalest: FindStale, domain: DomainId, limit = 3): Promise<[number[], boolean]> {
  const { paths, isMore } = await stalest(queue.pool, { domain, freshSeconds: FRESH_SECONDS, limit, nowMs })
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
    await queue.pool.query(
      `delete from last_visit where domain_id = $1 and path = any (select '/p' || n from generate_series(0, 15) n)`,
      [domain],
    )
    const { paths } = await stalest(queue.pool, {
      domain,
      freshSeconds: FRESH_SECONDS,
      limit: 3,
      nowMs: nowMs + HOUR_MS,
    })
    assert.deepEqual(paths, ['/p25' as PagePath])
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
