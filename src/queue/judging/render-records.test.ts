import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { HOME, paths, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import { systemClock } from '../../clock.ts'
import type { DomainId, DomainName, PagePath } from '../../ids.ts'
import type { RenderRecord } from '../../render/record.ts'
import { removeOldLastRenders } from '../../store/remove-expired.ts'
import { enqueue } from '../jobs/enqueue.ts'
import {
  createRecordKeeper,
  type KeepRecord,
  lastRenders,
  RECORDS_A_PAGE,
  RECORDS_SHOWN,
  removeOldRecords,
} from './render-records.ts'

const RECORD: RenderRecord = {
  phases: { slot: 0, tab: 1, navigate: 2, firstResponse: 3, settled: 4, snapshot: 5 },
  capture: 'budget',
  requests: { made: 3, spared: 1, blocked: 0, failed: 1 },
  troubles: [{ url: 'https://a.example/x', kind: 'failed', reason: 'status 404' }],
  consoleErrors: { count: 1, texts: ['broken'] },
  htmlBytes: 100,
}

let queue: TestQueue
let keep: KeepRecord
before(async () => {
  queue = await testQueue()
  keep = createRecordKeeper(queue.pool)
})
after(() => queue.close())

async function rendered(domain: DomainId, path: PagePath, detail: string | null = null): Promise<void> {
  await enqueue(queue.pool, domain, [path], 'live')
  const [job] = await queue.claim()
  assert(job !== undefined)
  await queue.complete(job, { kind: 'blank' })
  await keep(job, { outcome: 'blank', detail, claimedMs: systemClock.nowMs(), storedMs: 7.4, record: RECORD })
}

async function shown(domain: DomainId) {
  const { rows } = await queue.pool.query<{ custom_domain: DomainName }>(
    'select custom_domain from domain where id = $1',
    [domain],
  )
  return lastRenders(queue.pool, await queue.accountOf(domain), rows[0]!.custom_domain)
}

async function kept(domain: DomainId): Promise<number> {
  const { rows } = await queue.pool.query('select 1 from render_record where domain_id = $1', [domain])
  return rows.length
}

describe('records of renders', () => {
  it('are shown as they were written, newest first', async () => {
    const domain = await queue.domain()
    assert.deepEqual(await shown(domain), [])
    await rendered(domain, HOME)
    await rendered(domain, '/b' as PagePath, 'why')
    const renders = await shown(domain)
    assert.deepEqual(
      renders?.map(({ path, outcome, detail }) => [path, outcome, detail]),
      [
        ['/b', 'blank', 'why'],
        ['/', 'blank', null],
      ],
    )
    assert.deepEqual(renders?.[0]?.record, RECORD)
    assert.equal(renders?.[0]?.stored_ms, 7)
    assert(Number(renders?.[0]?.queued_ms) >= 0)
    assert.match(renders?.[0]?.ended_at ?? '', /^\d{4}-.*\.\d{3}Z$/)
  })

  it('are nobody else’s', async () => {
    const domain = await queue.domain()
    await rendered(domain, HOME)
    const stranger = await queue.accountOf(await queue.domain())
    const { rows } = await queue.pool.query('select custom_domain from domain where id = $1', [domain])
    assert.equal(await lastRenders(queue.pool, stranger, rows[0].custom_domain), null)
    assert.equal((await shown(domain))?.length, 1)
  })

  // Proves decided "Render log"
  it('the last of each page are kept, others untouched', async () => {
    const domain = await queue.domain()
    await rendered(domain, '/b' as PagePath)
    for (let i = 0; i < RECORDS_A_PAGE; i++) await rendered(domain, HOME, `${i}`)
    assert.equal(await kept(domain), RECORDS_A_PAGE + 1)
    await rendered(domain, HOME, 'last')
    assert.equal(await kept(domain), RECORDS_A_PAGE + 1)
    const details = (await shown(domain))?.filter(({ path }) => path === '/').map(({ detail }) => detail)
    assert.deepEqual([details?.[0], details?.at(-1)], ['last', '1'])
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
    const last = async () =>
      (
        await queue.pool.query<[string, string]>({
          rowMode: 'array',
          text: 'select path, outcome from last_render where domain_id = $1 order by path',
          values: [domain],
        })
      ).rows
    assert.deepEqual(await last(), [
      ['/', 'blank'],
      ['/b', 'rendered'],
    ])
    await queue.pool.query(
      `update last_render set ended_at = now() - interval '30 days' - interval '1 minute'
        where domain_id = $1 and path = '/'`,
      [domain],
    )
    assert.equal(await removeOldLastRenders(queue.pool), 1)
    assert.deepEqual(await last(), [['/b', 'rendered']])
    for (const job of jobs) await queue.complete(job, { kind: 'blank' })
  })

  it('so many are shown', async () => {
    const domain = await queue.domain()
    for (const path of paths(RECORDS_SHOWN)) await rendered(domain, path)
    assert.equal((await shown(domain))?.length, RECORDS_SHOWN)
    await rendered(domain, HOME)
    assert.equal((await shown(domain))?.length, RECORDS_SHOWN)
    assert.equal((await shown(domain))?.[0]?.path, '/')
  })

  // Proves decided "Render log"
  it('go after a week, in steps, and with their domain', async () => {
    const domain = await queue.domain()
    for (const path of paths(5)) await rendered(domain, path)
    const age = (interval: string) =>
      queue.pool.query('update render_record set ended_at = now() - $2::interval where domain_id = $1', [
        domain,
        interval,
      ])
    await age('6 days 23 hours')
    assert.equal(await removeOldRecords(queue.pool, { step: 2 }), 0)
    await age('7 days 1 minute')
    assert.equal(await removeOldRecords(queue.pool, { step: 2 }), 5)
    await rendered(domain, HOME)
    await queue.pool.query('delete from domain where id = $1', [domain])
    assert.equal(await kept(domain), 0)
  })
})
