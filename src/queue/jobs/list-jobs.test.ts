import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { columns, openQueue } from '../../../test/support/queue.ts'
import type { Queryable } from '../../db/transaction.ts'
import type { DomainId } from '../../ids.ts'
import type { JobState } from './job.ts'
import { countJobs, type JobsWanted, listJobs } from './list-jobs.ts'

const queue = await openQueue()
const [red, blue] = [await queue.domain(), await queue.domain()]
beforeEach(async () => {
  // Minutes ago. What ended first was queued last but one.
  const jobs: [DomainId, string, JobState, queued: number, ended: number | null][] = [
    [red, '/waits', 'queued', 60, null],
    [blue, '/runs', 'running', 2, null],
    [red, '/first', 'done', 4, 3.5],
    [red, '/second', 'failed', 90, 3],
    [blue, '/third', 'done', 80, 2],
    [red, '/fourth', 'cancelled', 70, 1],
    [blue, '/new', 'queued', 0, null],
  ]
  for (const values of jobs) {
    await queue.pool.query(
      `insert into job (domain_id, account_id, path, priority, state, turn, created_at, finished_at)
       values ($1, (select account_id from domain where id = $1), $2, 2, $3, 1, now() - $4::float8 * interval '1 minute', now() - $5::float8 * interval '1 minute')`,
      values,
    )
  }
})

const listed = async (wanted: Partial<JobsWanted>, lookedAt?: number) => {
  const all = { domain: null, state: null, limit: 100 }
  return columns(await listJobs(queue.pool, { ...all, ...wanted }, lookedAt), 'path').flat()
}

describe('listJobs', () => {
  it('the newest first, as many as are wanted', async () => {
    const all = ['/new', '/runs', '/first', '/waits', '/fourth', '/third', '/second']
    assert.deepEqual(await listed({}), all)
    assert.deepEqual(await listed({ limit: 3 }), all.slice(0, 3))
  })

  it('of a domain, in a state, or both', async () => {
    assert.deepEqual(await listed({ domain: red }), ['/first', '/waits', '/fourth', '/second'])
    assert.deepEqual(await listed({ domain: red, state: 'done' }), ['/first'])
    for (const [state, paths] of Object.entries({
      queued: ['/new', '/waits'],
      running: ['/runs'],
      done: ['/first', '/third'],
      failed: ['/second'],
      cancelled: ['/fourth'],
    })) {
      assert.deepEqual(await listed({ state: state as JobState }), paths, state)
    }
  })

  it('of all domains, no more that have ended than are looked at, the last of them; what is open is always there', async () => {
    assert.equal((await listed({}, 4)).length, 7)
    assert.deepEqual(await listed({}, 3), ['/new', '/runs', '/waits', '/fourth', '/third', '/second'])
    assert.deepEqual(await listed({ state: 'done' }, 3), ['/third'])
    assert.deepEqual(await listed({ state: 'queued' }, 3), ['/new', '/waits'])
    assert.equal((await listed({ domain: red }, 1)).length, 4)
  })
})

describe('countJobs', () => {
  it('counts every state, of all domains or of one', async () => {
    const counts = { queued: 2, running: 1, done: 2, failed: 1, cancelled: 1 }
    assert.deepEqual(await countJobs(queue.pool, null), { counts, isWhole: true })
    const ofRed = { queued: 1, running: 0, done: 1, failed: 1, cancelled: 1 }
    assert.deepEqual(await countJobs(queue.pool, red, 1), { counts: ofRed, isWhole: true })
  })

  it('says when more have ended than it counts, from the first one on', async () => {
    const { counts, isWhole } = await countJobs(queue.pool, null, 3)
    assert.deepEqual([counts.done, counts.failed, counts.cancelled, isWhole], [1, 1, 1, false])
    assert.equal((await countJobs(queue.pool, null, 4)).isWhole, true)
  })
})

it('of all domains, what ended before is not even read', async () => {
  const { pool } = queue
  const domain = await queue.domain()
  await pool.query('delete from job')
  await pool.query(
    `insert into job (domain_id, account_id, path, priority, state, turn, finished_at)
     select id, account_id, '/' || n, 2, 'done', 1, now() - n * interval '1 second'
       from domain, generate_series(1, 20000) n where id = $1`,
    [domain],
  )
  await pool.query('vacuum analyze job')
  let read = 0
  const query = async (sql: string, values: unknown[]) => {
    const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, format json) ${sql}`,
      values,
    )
    read += rowsOfScans(rows[0]!['QUERY PLAN'][0].Plan)
    return pool.query(sql, values)
  }
  const db = { query: query as Queryable['query'] }
  for (const state of [null, 'queued', 'running', 'done', 'failed'] as const) {
    read = 0
    await listJobs(db, { domain: null, state, limit: 5 }, 100)
    // Those that are looked at, and the domain of each that is listed.
    assert(read <= 105, `${state}: ${read} rows`)
  }
  read = 0
  assert.equal((await countJobs(db, null, 100)).isWhole, false)
  assert(read <= 201, `${read} rows`)
})

type Plan = { 'Node Type': string; 'Actual Rows': number; 'Actual Loops': number; Plans?: Plan[] } & Record<
  'Rows Removed by Filter',
  number | undefined
>

/** What the scans of tables and indexes have read, with what they threw away. */
function rowsOfScans(plan: Plan): number {
  const own = / Scan$|^Index/.test(plan['Node Type']) && plan['Node Type'] !== 'Subquery Scan'
  const rows = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
  return (own ? rows : 0) + (plan.Plans ?? []).reduce((sum, each) => sum + rowsOfScans(each), 0)
}
