import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { columns, HOME, openQueue, paths } from '../../../test/support/queue.ts'
import { troubledRecord } from '../../../test/support/render-record.ts'
import { systemClock } from '../../clock.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import { removeOldLastRenders } from '../../store/remove-expired.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { createRecordKeeper, RECORDS_A_PAGE, RECORDS_SHOWN, removeOldRecords } from './render-records.ts'

const RECORD = troubledRecord()
const queue = await openQueue()
const keep = createRecordKeeper(queue.pool)

async function rendered(domain: DomainId, path: PagePath, detail: string | null = null): Promise<void> {
  const job = await queue.running(domain, path)
  await queue.complete(job, { kind: 'blank' })
  await keep(job, { outcome: 'blank', detail, claimedMs: systemClock.nowMs(), storedMs: 7.4, record: RECORD })
}

async function kept(domain: DomainId): Promise<number> {
  const { rows } = await queue.pool.query('select 1 from render_record where domain_id = $1', [domain])
  return rows.length
}

describe('records of renders', () => {
  it('are shown as they were written, newest first', async () => {
    const domain = await queue.domain()
    assert.deepEqual(await queue.records(domain), [])
    await rendered(domain, HOME)
    await rendered(domain, '/b' as PagePath, 'why')
    const renders = await queue.records(domain)
    assert.deepEqual(columns(renders, 'path', 'outcome', 'detail'), [
      ['/b', 'blank', 'why'],
      ['/', 'blank', null],
    ])
    assert.deepEqual(renders[0]?.record, RECORD)
    assert.equal(renders[0]?.stored_ms, 7)
    assert(Number(renders[0]?.queued_ms) >= 0)
    assert.match(renders[0]?.ended_at ?? '', /^\d{4}-.*\.\d{3}Z$/)
  })

  // Proves decided "Render log"
  it('the last of each page are kept, others untouched', async () => {
    const domain = await queue.domain()
    await rendered(domain, '/b' as PagePath)
    for (let i = 0; i < RECORDS_A_PAGE; i++) await rendered(domain, HOME, `${i}`)
    assert.equal(await kept(domain), RECORDS_A_PAGE + 1)
    await rendered(domain, HOME, 'last')
    assert.equal(await kept(domain), RECORDS_A_PAGE + 1)
    const details = (await queue.records(domain))
      .filter(({ path }) => path === '/')
      .map(({ detail }) => detail)
    assert.deepEqual([details[0], details.at(-1)], ['last', '1'])
  })

  // Proves decided "Last crawler of a page"
  it('how the last one of a path ended is known for longer, not of probes, and for 30 days', async () => {
    const domain = await queue.domain()
    await rendered(domain, HOME)
    await enqueue(queue.pool, domain, ['/probe' as PagePath, '/b' as PagePath], 'live')
    const jobs = await queue.claim()
    const of = (path: string) => jobs.find((job) => job.page.path === path)!
    const explained = { detail: null, claimedMs: systemClock.nowMs(), storedMs: 1, record: RECORD }
    await keep(of('/probe'), { ...explained, outcome: 'probed' })
    await keep(of('/b'), { ...explained, outcome: 'timed-out' })
    await keep(of('/b'), { ...explained, outcome: 'rendered' })
    const last = async () => {
      const sql = 'select path, outcome from last_render where domain_id = $1 order by path'
      return (await queue.pool.query(sql, [domain])).rows.map(({ path, outcome }) => `${path} ${outcome}`)
    }
    assert.deepEqual(await last(), ['/ blank', '/b rendered'])
    await queue.pool.query(
      `update last_render set ended_at = now() - interval '30 days' - interval '1 minute'
        where domain_id = $1 and path = '/'`,
      [domain],
    )
    assert.equal(await removeOldLastRenders(queue.pool), 1)
    assert.deepEqual(await last(), ['/b rendered'])
  })

  it('so many are shown', async () => {
    const domain = await queue.domain()
    for (const path of paths(RECORDS_SHOWN)) await rendered(domain, path)
    assert.equal((await queue.records(domain)).length, RECORDS_SHOWN)
    await rendered(domain, HOME)
    assert.equal((await queue.records(domain)).length, RECORDS_SHOWN)
    assert.equal((await queue.records(domain))[0]?.path, '/')
  })

  // Proves decided "Render log"
  it('go after a week, in steps', async () => {
    const domain = await queue.domain()
    for (const path of paths(5)) await rendered(domain, path)
    const age = (interval: string) =>
      queue.pool.query('update render_record set ended_at = now() - $1::interval where domain_id = $2', [
        interval,
        domain,
      ])
    await age('6 days 23 hours')
    assert.equal(await removeOldRecords(queue.pool, { step: 2 }), 0)
    await age('7 days 1 minute')
    assert.equal(await removeOldRecords(queue.pool, { step: 2 }), 5)
  })
})
