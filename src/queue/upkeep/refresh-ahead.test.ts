import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { openQueue, paths } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { DomainId } from '../../ids.ts'
import { createStaleFinder } from '../../store/last-visits.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { AHEAD_AT_ONCE, refreshAhead } from './refresh-ahead.ts'

const queue = await openQueue()
const clock = { atMs: Date.now(), nowMs: () => clock.atMs }
beforeEach(() => queue.pool.query('delete from domain'))

/** Page `n` is `ages[n]` hours old and was asked for `n` hours ago. */
async function site(ages: readonly number[], plan = 'enterprise'): Promise<DomainId> {
  const domain = await queue.domain({ plan })
  await queue.pool.query(
    `with page as (
       insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select $1, '/p' || n - 1, 200, '[]', '', 0, 'e', now() - make_interval(hours => age)
         from unnest($2::integer[]) with ordinality as a(age, n))
     insert into last_visit select $1, '/p' || n - 1, 'Googlebot', 'search', now() - make_interval(hours => n::integer - 1)
       from unnest($2::integer[]) with ordinality as a(age, n)`,
    [domain, ages],
  )
  return domain
}
const refresh = () =>
  refreshAhead({ pool: queue.pool, plans: DEFAULT_PLANS, clock, stalest: createStaleFinder() })
async function look(): Promise<string[]> {
  while (await refresh()) {}
  const sql = `select path from job where state = 'queued' and priority = 1 order by turn`
  return (await queue.pool.query<{ path: string }>(sql)).rows.map(({ path }) => path)
}
const again = () => queue.pool.query(`update freshness set next_at = now()`)
const end = () =>
  queue.pool.query(`update job set state = 'done', finished_at = now() where state = 'queued'`)
const thirty = (count: number) => Array<number>(count).fill(30)

describe('refreshing ahead', () => {
  // Proves decided "Refresh ahead"
  it('stale pages, those that a crawler asked for last come first; none that nobody asks for', async () => {
    await site([30, 2, 40, 1])
    await queue.pool.query(`update page set stale_since = now() - interval '1 minute' where path = '/p3'`)
    await queue.pool.query(`delete from last_visit where path = '/p2'`)
    assert.deepEqual(await look(), ['/p0', '/p3'])
    await again()
    // What waits is not asked for twice.
    assert.deepEqual(await look(), ['/p0', '/p3'])
    await queue.pool.query(`update page set rendered_at = now(), stale_since = null`)
    await end()
    await again()
    assert.deepEqual(await look(), [])
  })

  it('both devices, where they are told apart', async () => {
    const [both, one] = [await site([30]), await site([30])]
    await queue.pool.query(`update domain set settings = '{"devices":"both"}' where id = $1`, [both])
    await look()
    const { rows } = await queue.pool.query('select domain_id, is_both from job order by is_both')
    const wanted = [one, both].map((domain_id, at) => ({ domain_id, is_both: at === 1 }))
    assert.deepEqual(rows, wanted)
  })

  it('a domain for which the queue has no room holds up none for which it has', async () => {
    const [greedy, other] = [await site([30]), await site([30])]
    await enqueue(queue.pool, greedy, paths(30, '/own'), 'warm')
    await queue.pool.query(`update queue_depth set queued = 999980, counted_at = now() + interval '1 hour'`)
    await look()
    await queue.pool.query(`update queue_depth set counted_at = '-infinity'`)
    const { rows } = await queue.pool.query('select domain_id from job where priority = 1')
    assert.deepEqual(rows, [{ domain_id: other }])
  })

  it('a domain at which a look fails holds up no other', async () => {
    const [bad, other] = [await site([30]), await site([30])]
    await queue.pool.query(`insert into freshness values ($1, now() - interval '1 hour'), ($2, now())`, [
      bad,
      other,
    ])
    await queue.pool.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
       create trigger refuse before insert on job for each row when (new.domain_id = ${bad}) execute function refuse()`,
    )
    try {
      await assert.rejects(look(), /refused/)
      await look()
      const { rows } = await queue.pool.query('select domain_id from job where priority = 1')
      assert.deepEqual(rows, [{ domain_id: other }])
    } finally {
      await queue.pool.query('drop trigger refuse on job; drop function refuse')
    }
  })

  it('by the age that the owner has set', async () => {
    const domain = await site([3, 1])
    await queue.set(domain, { fresh_seconds: 7_200 })
    assert.deepEqual(await look(), ['/p0'])
  })

  it('so many at a time', async () => {
    const domain = await site(thirty(AHEAD_AT_ONCE + 5))
    assert.equal((await look()).length, AHEAD_AT_ONCE)
    await again()
    assert.equal((await look()).length, AHEAD_AT_ONCE)
    // What crawlers have asked for themselves takes of the same room.
    await end()
    await enqueue(queue.pool, domain, paths(AHEAD_AT_ONCE - 1, '/own'), 'refresh')
    await queue.pool.query('update page set rendered_at = now() where path < $1', ['/p2'])
    await again()
    assert.equal((await look()).length, AHEAD_AT_ONCE)
  })

  // Proves decided "Refresh ahead"
  it("a day takes a thirtieth of the owner's share of the month, and the next day as much again", async () => {
    // 1,000 a month: 10 % of it is 3 a day.
    await site(thirty(10), 'starter')
    assert.equal((await look()).length, 3)
    await end()
    await again()
    assert.deepEqual(await look(), [])
    clock.atMs += 86_400_000
    await again()
    assert.equal((await look()).length, 3)
    clock.atMs -= 86_400_000
  })

  it('the share is the owner’s to say, and 0 turns it off', async () => {
    const domain = await site(thirty(30), 'starter')
    await queue.set(domain, { refresh_ahead_percent: 0 })
    assert.deepEqual(await look(), [])
    await queue.set(domain, { refresh_ahead_percent: 50 })
    await again()
    assert.equal((await look()).length, 16)
  })

  // Proves decided "Refresh ahead"
  it('never past 100 % of the month, which is for crawlers', async () => {
    const domain = await site([30, 30, 30], 'starter')
    await queue.useRenders(domain, 999)
    assert.deepEqual(await look(), ['/p0'])
  })

  it('not for an inactive domain', async () => {
    const domain = await site([30])
    await queue.pool.query('update domain set is_active = false where id = $1', [domain])
    assert.deepEqual(await look(), [])
  })

  it('what came to nothing is not tried again within an hour', async () => {
    const domain = await site([30, 30])
    const ended = (outcome: string, age: string) =>
      queue.pool.query(
        `insert into last_render values ($1, '/p0', $2, now() - $3::interval)
         on conflict (domain_id, path) do update set outcome = excluded.outcome, ended_at = excluded.ended_at`,
        [domain, outcome, age],
      )
    await ended('timed-out', '59 minutes')
    assert.deepEqual(await look(), ['/p1'])
    await end()
    await ended('timed-out', '61 minutes')
    await again()
    assert.deepEqual((await look()).sort(), ['/p0', '/p1'])
  })

  it('several nodes queue each page once, and count it once', async () => {
    await site(thirty(10))
    await site([30, 30])
    await Promise.all(Array.from({ length: 6 }, refresh))
    assert.equal((await look()).length, 12)
    const { rows } = await queue.pool.query('select ahead from freshness order by ahead')
    assert.deepEqual(rows, [{ ahead: 2 }, { ahead: 10 }])
  })
})
