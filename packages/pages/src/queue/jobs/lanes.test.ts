import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { until } from '../../../../../test/support/condition.ts'
import { columns, HOME, openQueue, paths, pathsOf, RENDERED } from '../../../../../test/support/queue.ts'
import { cancelJob, cancelJobs, cancelMobileJobs, deleteJobs, restartRenders } from './cancel.ts'
import { JobCompleter } from './complete.ts'
import { enqueue, enqueueLive } from './enqueue.ts'
import { Notices } from './notices.ts'

const queue = await openQueue()

/** A domain of a new account whose lane differs from those of `others`, or is that of `beside`. */
async function domainInLane(where: { otherThan: DomainId[] } | { beside: DomainId }): Promise<DomainId> {
  const laneOf = async (domain: DomainId) => (await queue.accountOf(domain)) % 16
  for (;;) {
    const domain = await queue.domain()
    const lane = await laneOf(domain)
    if ('beside' in where && lane === (await laneOf(where.beside))) return domain
    if ('otherThan' in where && !(await Promise.all(where.otherThan.map(laneOf))).includes(lane))
      return domain
  }
}

/** What the counts say of each domain with open jobs, and what its jobs are. */
async function counts(): Promise<[counted: unknown, real: unknown]> {
  const { rows: counted } = await queue.pool.query(
    `select domain_id, sum(waiting)::integer as waiting, sum(running)::integer as running
       from (select domain_id, waiting, 0 as running from queue_waiting
             union all select domain_id, 0, running from queue_running) c
      group by domain_id having sum(waiting) <> 0 or sum(running) <> 0 order by domain_id`,
  )
  const { rows: real } = await queue.pool.query(
    `select domain_id, (count(*) filter (where state = 'queued'))::integer as waiting,
            (count(*) filter (where state = 'running' and not is_brought))::integer as running
       from job where state in ('queued', 'running')
      group by domain_id
     having count(*) filter (where state = 'queued' or not is_brought) > 0 order by domain_id`,
  )
  return [counted, real]
}

async function assertCounted(waiting: number, running: number, domain: DomainId): Promise<void> {
  const [counted, real] = await counts()
  assert.deepEqual(counted, real)
  const { rows } = await queue.pool.query(
    `select coalesce((select sum(waiting)::integer from queue_waiting where domain_id = $1), 0) as waiting,
            coalesce((select running from queue_running where domain_id = $1), 0) as running`,
    [domain],
  )
  assert.deepEqual(rows, [{ waiting, running }])
}

describe('the counts of waiting and running jobs', () => {
  it('follow jobs that are queued, claimed, ended, requeued, given back and cancelled', async () => {
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, paths(9), 'warm')
    await enqueue(queue.pool, domain, paths(2), 'live')
    await assertCounted(9, 0, domain)
    const [first, second, third, fourth] = await queue.claim({ slots: 4, node: 'one' })
    await assertCounted(5, 4, domain)
    await queue.complete(first!, RENDERED)
    await queue.complete(second!, { kind: 'crashed', reason: 'test' })
    await assertCounted(6, 2, domain)
    await cancelJob(queue.pool, third!.id)
    await assertCounted(6, 1, domain)
    await queue.pool.query(`update job set state = 'queued', node = null where id = $1`, [fourth!.id])
    await assertCounted(7, 0, domain)
    await cancelJobs(queue.pool, domain)
    await assertCounted(0, 0, domain)
  })

  it('follow jobs of several domains that one statement changes', async () => {
    const [one, other] = [await queue.domain(), await queue.domain()]
    for (const domain of [one, other]) await enqueue(queue.pool, domain, paths(5), 'warm')
    await queue.claim({ slots: 6, node: 'dead' })
    await assertCounted(2, 3, one)
    await new JobCompleter(
      queue.pool,
      DEFAULT_PLANS,
      systemClock,
      new Notices(queue.pool, silentLog()),
      queue.bodies,
    ).reap()
    await assertCounted(5, 0, one)
    await assertCounted(5, 0, other)
  })

  it('leave out jobs that were brought along', async () => {
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, paths(5), 'warm')
    assert.equal((await queue.claim({ slots: 1, plain: [domain] })).length, 5)
    await assertCounted(0, 1, domain)
  })

  it('forget the jobs of a deleted account, while some of them run', async () => {
    const [deleted, other] = [await queue.domain(), await queue.domain()]
    for (const domain of [deleted, other]) await enqueue(queue.pool, domain, paths(3), 'warm')
    await queue.claim({ slots: 2 })
    await queue.pool.query('delete from account where id = $1', [await queue.accountOf(deleted)])
    await assertCounted(0, 0, deleted)
    await assertCounted(2, 1, other)
    await queue.pool.query('truncate job cascade')
    await assertCounted(0, 0, other)
  })

  it('that differ from the jobs are corrected, once a minute, and all is claimed again', async () => {
    const correct = async (every = '0') =>
      (await queue.column<number>(`select correct_queue_counts($1::interval)`, every))[0]
    const [one, other] = [await queue.domain(), await queue.domain()]
    await queue.pool.query('alter table job disable trigger user')
    for (const domain of [one, other]) await enqueue(queue.pool, domain, paths(2), 'warm')
    await queue.pool.query('alter table job enable trigger user')
    await queue.pool.query('insert into queue_running values ($1, 1, 4)', [one])
    assert.deepEqual(await queue.claim(), [], 'nothing is counted as waiting')
    await queue.pool.query('update queue_compared set compared_at = clock_timestamp()')
    assert.equal(await correct('1 minute'), 0, 'another node has just compared them')
    assert.equal(await correct(), 3)
    await assertCounted(2, 0, one)
    assert.equal(await correct(), 0)
    assert.equal((await queue.claim({ cap: 4 })).length, 4)
  })
})

it('functions that are applied again leave the counts alone once nodes have compared them', async () => {
  const domain = await queue.domain()
  const file = path.resolve(import.meta.dirname, '../claims.functions.sql')
  const functions = readFileSync(file, 'utf8')
  const apply = async (comparedAt: string) => {
    await queue.pool.query('insert into queue_running values ($1, 1, 4) on conflict do nothing', [domain])
    await queue.pool.query('update queue_compared set compared_at = $1', [comparedAt])
    await queue.pool.query(functions)
    return queue.column('select running from queue_running where domain_id = $1', domain)
  }
  assert.deepEqual(await apply('2026-11-29'), [4])
  assert.deepEqual(await apply('-infinity'), [0])
})

describe('the advisory locks of a claim', () => {
  const LOCKED = `select from pg_locks where locktype = 'advisory' and classid = 7228
    and database = (select oid from pg_database where datname = current_database())`
  const claimedIn = async (client: pg.PoolClient, background = 1) => {
    const sql = `select job_id from claim_from_lanes('one', 1, $1, '{}', 100, 100, 100, '1 minute', '2026-11-01', '{}', 0)`
    const { rows } = await client.query(sql, [background])
    return { rows, locked: (await client.query(LOCKED)).rowCount }
  }

  it('are none for domains whose jobs may not run yet', async () => {
    const account = await queue.accountOf(await queue.domain())
    for (let count = 0; count < 10; count++) {
      await enqueue(queue.pool, await queue.domain({ account }), paths(1), 'warm')
    }
    await queue.pool.query(`update job set run_at = now() + interval '1 minute'`)
    const last = await queue.domain({ account })
    await enqueue(queue.pool, last, paths(1), 'warm')
    await transaction(queue.pool, async (client) => {
      const { rows, locked } = await claimedIn(client)
      assert.equal(rows.length, 1)
      assert.equal(locked, 1)
    })
  })

  it('are at most 64, and the next claim goes on where many crawlers have left', async () => {
    const account = await queue.accountOf(await queue.domain())
    for (let count = 0; count < 65; count++) {
      await enqueueLive(queue.pool, pageId(await queue.domain({ account }), HOME), 'one', 0)
    }
    await transaction(queue.pool, async (client) => {
      const { rows, locked } = await claimedIn(client, 0)
      assert.deepEqual(rows, [{ job_id: null }], 'it asks again')
      assert.equal(locked, 64)
    })
    assert.deepEqual(await queue.claim({ backgroundSlots: 0 }), [])
    assert.deepEqual(await queue.column('select distinct priority from job'), [1])
  })
})

describe('lanes', () => {
  it('a claim passes over a lane that another claim holds', async () => {
    const held = await queue.domain()
    const free = await domainInLane({ otherThan: [held] })
    for (const domain of [held, free]) await enqueue(queue.pool, domain, paths(1), 'warm')
    await transaction(queue.pool, async (client) => {
      await client.query('select pg_advisory_xact_lock(7226, 16 + $1 % 16)', [await queue.accountOf(held)])
      assert.deepEqual(await claimedDomains(1), [free])
    })
    assert.deepEqual(await claimedDomains(1), [held])
  })

  it('a claim waits for a lane if no other one has work, and for one with live work', async () => {
    const live = await queue.domain()
    const other = await domainInLane({ otherThan: [live] })
    await enqueue(queue.pool, live, paths(1), 'live')
    await enqueue(queue.pool, other, paths(1), 'warm')
    const claiming = await transaction(queue.pool, async (client) => {
      const lane = 16 + ((await queue.accountOf(live)) % 16)
      await client.query('select pg_advisory_xact_lock(7226, $1)', [lane])
      const waiting = claimedDomains(1)
      await until('the claim waits', async () => {
        const sql = `select from pg_locks where locktype = 'advisory' and classid = 7226 and objid = $1 and not granted
          and database = (select oid from pg_database where datname = current_database())`
        return (await queue.pool.query(sql, [lane])).rowCount === 1
      })
      return { waiting }
    })
    assert.deepEqual(await claiming.waiting, [live])
  })

  it('a claim that holds a lane and finds the next one held asks again, and fills all its slots', async () => {
    const first = await queue.domain()
    const held = await domainInLane({ otherThan: [first] })
    await enqueue(queue.pool, first, paths(1), 'live')
    await enqueue(queue.pool, held, paths(1), 'live')
    await enqueue(queue.pool, first, paths(3, '/warm'), 'warm')
    const { claiming } = await transaction(queue.pool, async (client) => {
      await client.query('select pg_advisory_xact_lock(7226, 16 + $1 % 16)', [await queue.accountOf(held)])
      const claiming = queue.claim({ slots: 2 })
      const running = `select from job where state = 'running'`
      await until('the first one is claimed', async () => (await queue.pool.query(running)).rowCount === 1)
      return { claiming }
    })
    const claimed = await claiming
    assert.deepEqual(columns(claimed, 'priority').flat(), ['live', 'live'])
  })

  it('accounts take turns over lanes, also one that shares its lane with two', async () => {
    const alone = await queue.domain()
    const shared = await domainInLane({ otherThan: [alone] })
    const domains = [
      alone,
      shared,
      await domainInLane({ beside: shared }),
      await domainInLane({ beside: shared }),
    ]
    for (const domain of domains) await enqueue(queue.pool, domain, paths(60), 'warm')
    const served: DomainId[] = []
    for (let count = 0; count < 80; count++) served.push(...(await claimedDomains(1)))
    for (const domain of domains) {
      const claims = served.filter((one) => one === domain).length
      assert(claims >= 18 && claims <= 22, `${claims} of 80`)
    }
  })

  it('a lane that gets work after a rest catches up nothing', async () => {
    const busy = await queue.domain()
    const rested = await domainInLane({ otherThan: [busy] })
    await enqueue(queue.pool, busy, paths(60), 'warm')
    for (let count = 0; count < 20; count++) await claimedDomains(1)
    await enqueue(queue.pool, rested, paths(20), 'warm')
    const served: DomainId[] = []
    for (let count = 0; count < 10; count++) served.push(...(await claimedDomains(1)))
    const ofRested = served.filter((domain) => domain === rested).length
    assert(ofRested >= 4 && ofRested <= 6, `${ofRested} of 10`)
  })

  it('a lane whose domains are at their caps keeps no other one waiting', async () => {
    const capped = await queue.domain()
    const other = await domainInLane({ otherThan: [capped] })
    await enqueue(queue.pool, capped, paths(10), 'warm')
    await queue.claim({ slots: 2, cap: 2 })
    await enqueue(queue.pool, other, paths(3), 'warm')
    const claimed = await queue.claim({ slots: 10, cap: 2 })
    assert.deepEqual(
      claimed.map(({ page }) => page.domain),
      [other, other],
    )
  })

  it('reads few jobs, however many wait of others', async () => {
    const others = await queue.domain()
    const last = await domainInLane({ otherThan: [others] })
    await enqueue(queue.pool, others, paths(3_000), 'warm')
    await enqueue(queue.pool, last, paths(1), 'warm')
    // Its lane is next.
    await queue.claim({ slots: 1 })
    const read = await transaction(queue.pool, async (client) => {
      const jobsRead = async () => {
        const { rows } = await client.query<{ read: number }>(
          `select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables where relname = 'job'`,
        )
        return rows[0]!.read
      }
      const before = await jobsRead()
      const { rows } = await client.query(
        `select domain_id from claim_from_lanes('node', 1, 1, '{}', 100, 100, 100, interval '1 minute', '2026-11-01', '{}', 0)`,
      )
      assert.deepEqual(rows, [{ domain_id: last }])
      return (await jobsRead()) - before
    })
    assert(read < 100, `${read} jobs read`)
  })

  it('rows of jobs that crawlers left do not stay', async () => {
    const domain = await queue.domain()
    await enqueueLive(queue.pool, pageId(domain, '/left' as PagePath), 'one', 0)
    assert.deepEqual(await queue.claim({ backgroundSlots: 0 }), [])
    const rows = () => queue.column('select priority from queue_waiting where domain_id = $1', domain)
    assert.deepEqual(await rows(), [1])
    assert.deepEqual(pathsOf(await queue.claim()), ['/left'])
    assert.deepEqual(await rows(), [])
  })
})

describe('a claim while a change of a domain is under way', () => {
  for (const [what, change] of [
    ['its jobs are cancelled', cancelJobs],
    ['its jobs of phones are cancelled', cancelMobileJobs],
    ['its renders are restarted', restartRenders],
    ['its jobs are deleted', deleteJobs],
  ] as const)
    it(`passes over the domain while ${what}, and waits for nothing`, async () => {
      const domain = await queue.domain()
      const other = await domainInLane({ beside: domain })
      await enqueue(queue.pool, domain, paths(1, '/running'), 'live')
      await queue.claim()
      await transaction(queue.pool, async (client) => {
        await change(client, domain)
        await enqueueLive(queue.pool, pageId(domain, '/new' as PagePath), 'one', 60_000)
        await enqueue(queue.pool, other, paths(1), 'warm')
        assert.deepEqual(await claimedDomains(2), [other])
      })
      assert.deepEqual(await claimedDomains(2), [domain])
    })
})

async function claimedDomains(slots: number): Promise<DomainId[]> {
  return (await queue.claim({ slots })).map(({ page }) => page.domain)
}
