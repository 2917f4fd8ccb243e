/** Whatever a render ends with that brought no page: the last good copy stays as it was, and its owner reads why. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { HOME, RENDERED, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { systemClock } from '../../clock.ts'
import type { DomainId, DomainName } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import type { RenderOutcome, RenderOutcomeKind } from '../../render/outcome.ts'
import type { RenderRecord } from '../../render/record.ts'
import { pageId } from '../../store/page-id.ts'
import { readStored } from '../../store/stored-page.ts'
import { AfterRender } from '../jobs/after-render.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { runJob } from '../jobs/run-job.ts'
import { MAX_FAULTS } from './effect.ts'
import { lastRenders } from './render-records.ts'

const RECORD: RenderRecord = {
  phases: { slot: 0, tab: 1, navigate: 2, firstResponse: 3, settled: null, snapshot: 5 },
  capture: null,
  requests: { made: 3, spared: 0, blocked: 0, failed: 1 },
  troubles: [{ url: 'https://a.example/x', kind: 'failed', reason: 'status 404' }],
  consoleErrors: { count: 1, texts: ['broken'] },
  htmlBytes: null,
}

type Bad = Exclude<RenderOutcomeKind, 'rendered' | 'redirect' | 'aborted'>

/** Each outcome that brings no page, with the reason that the owner reads. */
const BAD: { [Kind in Bad]: [RenderOutcome & { kind: Kind }, detail: string | null] } = {
  'timed-out': [{ kind: 'timed-out', afterMs: 20_000 }, 'after 20000 ms'],
  incomplete: [{ kind: 'incomplete', reason: 'no answer to GET /x', page: null }, 'no answer to GET /x'],
  crashed: [{ kind: 'crashed', reason: 'the page crashed' }, 'the page crashed'],
  blank: [{ kind: 'blank' }, 'no text, image or field'],
  'origin-error': [{ kind: 'origin-error', status: 502 }, 'status 502'],
  'origin-unreachable': [{ kind: 'origin-unreachable', reason: 'refused' }, 'refused'],
  'site-error': [{ kind: 'site-error', status: 503, headers: [], html: '<p>Back soon' }, 'status 503'],
  'not-html': [{ kind: 'not-html', contentType: 'application/json' }, 'application/json'],
  challenge: [{ kind: 'challenge', mark: 'Cloudflare' }, 'Cloudflare'],
  'error-page': [{ kind: 'error-page', mark: 'Next.js' }, 'Next.js'],
  'too-large': [{ kind: 'too-large', what: 'elements' }, 'elements'],
}

let queue: TestQueue
before(async () => {
  queue = await testQueue()
})
after(() => queue.close())

async function render(domain: DomainId, outcome: RenderOutcome): Promise<void> {
  await enqueue(queue.pool, domain, [HOME], 'live')
  // A crash comes again.
  for (let turn = 0; turn < MAX_FAULTS; turn++) {
    await queue.pool.query('update job set run_at = now()')
    const [job] = await queue.claim()
    if (job === undefined) return
    const deps = {
      render: async () => ({ outcome, record: RECORD }),
      complete: queue.complete,
      pool: queue.pool,
      plans: DEFAULT_PLANS,
      clock: systemClock,
      log: silentLog(),
      leaseMs: 1_000,
    }
    await new AfterRender(deps).follow(job, await runJob(deps, job, new AbortController()))
  }
}

async function records(domain: DomainId) {
  const sql = 'select custom_domain from domain where id = $1'
  const { rows } = await queue.pool.query<{ custom_domain: DomainName }>(sql, [domain])
  return (await lastRenders(queue.pool, await queue.accountOf(domain), rows[0]!.custom_domain)) ?? []
}

describe('the last good copy is served on, and the reason kept', () => {
  for (const [kind, [outcome, detail]] of Object.entries(BAD)) {
    it(kind, async () => {
      const domain = await queue.domain()
      await render(domain, RENDERED)
      const good = await readStored(queue.pool, pageId(domain, HOME))
      assert.equal(good?.status, 200)
      await render(domain, outcome)
      assert.deepEqual(await readStored(queue.pool, pageId(domain, HOME)), good)
      const [last, ...earlier] = await records(domain)
      assert.deepEqual([last?.outcome, last?.detail, last?.path], [kind, detail, '/'])
      assert.deepEqual(last?.record, RECORD)
      assert(Math.abs(Date.parse(last?.ended_at ?? '') - Date.now()) < 60_000)
      assert.equal(earlier.at(-1)?.outcome, 'rendered')
      const { rows } = await queue.pool.query('select renders from render_count where domain_id = $1', [
        domain,
      ])
      assert.deepEqual(rows, [{ renders: 1 }])
    })

    it(`${kind}: nothing is stored where there was nothing`, async () => {
      const domain = await queue.domain()
      await render(domain, outcome)
      assert.equal(await readStored(queue.pool, pageId(domain, HOME)), null)
      assert.equal((await records(domain))[0]?.outcome, kind)
    })
  }
})

// Proves decided "Redirects to the page itself"
it('a site that leads round in circles: no redirect is stored, and the reason names it', async () => {
  const domain = await queue.domain()
  await render(domain, RENDERED)
  const good = await readStored(queue.pool, pageId(domain, HOME))
  const sql = 'select custom_domain from domain where id = $1'
  const { rows } = await queue.pool.query<{ custom_domain: string }>(sql, [domain])
  const location = `https://${rows[0]?.custom_domain}/?utm_source=self`
  await render(domain, { kind: 'redirect', status: 302, location })
  assert.deepEqual(await readStored(queue.pool, pageId(domain, HOME)), good)
  const [last] = await records(domain)
  assert.deepEqual([last?.outcome, last?.detail], ['redirect-loop', location])
})
