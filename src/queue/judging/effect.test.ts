/** What becomes of a render without a page: the last good copy stays as it was, and its owner reads why. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HOME, openQueue, RENDERED, runNext } from '../../../test/support/queue.ts'
import { troubledRecord } from '../../../test/support/render-record.ts'
import type { DomainId } from '../../ids.ts'
import type { RenderOutcome, RenderOutcomeKind } from '../../render/outcome.ts'
import { pageId } from '../../store/page-id.ts'
import { readStored } from '../../store/stored-page.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { forbidsStoring, MAX_FAULTS } from './effect.ts'

const record = troubledRecord({ capture: null, htmlBytes: null })

type Bad = Exclude<RenderOutcomeKind, 'rendered' | 'redirect' | 'aborted'>

/** Each outcome that brings no page, with the reason that the owner reads. */
const BAD: { [Kind in Bad]: [RenderOutcome & { kind: Kind }, detail: string | null] } = {
  'timed-out': [{ kind: 'timed-out', afterMs: 20_000 }, 'after 20000 ms'],
  incomplete: [{ kind: 'incomplete', reason: 'no answer to GET /x', page: null }, 'no answer to GET /x'],
  crashed: [{ kind: 'crashed', reason: 'the page crashed' }, 'the page crashed'],
  blank: [{ kind: 'blank' }, 'no text, image or field'],
  'origin-error': [{ kind: 'origin-error', status: 502 }, 'status 502'],
  'origin-unreachable': [
    { kind: 'origin-unreachable', reason: 'refuse\0'.repeat(99) },
    'refuse'.repeat(99).slice(0, 500),
  ],
  'site-error': [{ kind: 'site-error', status: 503, headers: [], html: '<p>Back soon' }, 'status 503'],
  'not-html': [{ kind: 'not-html', contentType: 'application/json' }, 'application/json'],
  challenge: [{ kind: 'challenge', mark: 'Cloudflare' }, 'Cloudflare'],
  'error-page': [{ kind: 'error-page', mark: 'Next.js' }, 'Next.js'],
  'too-large': [{ kind: 'too-large', what: 'elements' }, 'elements'],
}

const queue = await openQueue()
const stored = (domain: DomainId) => readStored(queue.pool, pageId(domain, HOME))

async function render(domain: DomainId, outcome: RenderOutcome): Promise<void> {
  await enqueue(queue.pool, domain, [HOME], 'live')
  // A crash comes again.
  for (let turn = 0; turn < MAX_FAULTS; turn++) {
    await queue.pool.query('update job set run_at = now()')
    await runNext(queue, async () => ({ outcome, record }))
  }
}

describe('the last good copy is served on, and the reason kept', () => {
  for (const [kind, [outcome, detail]] of Object.entries(BAD)) {
    it(kind, async () => {
      const domain = await queue.domain()
      await render(domain, outcome)
      assert.equal(await stored(domain), null)
      await render(domain, RENDERED)
      const good = await stored(domain)
      assert.equal(good?.status, 200)
      await render(domain, outcome)
      assert.deepEqual(await stored(domain), good)
      const [last] = await queue.records(domain)
      assert.deepEqual([last?.outcome, last?.detail, last?.path, last?.record], [kind, detail, '/', record])
      assert(Math.abs(Date.parse(last?.ended_at ?? '') - Date.now()) < 60_000)
      const sql = 'select state, outcome, detail, finished_at is not null as ended from job where id = $1'
      const { rows } = await queue.pool.query(sql, [last?.jobId])
      assert.deepEqual(rows, [{ state: 'failed', outcome: kind, detail, ended: true }])
      assert.equal(await queue.renders(domain), kind === 'site-error' ? 2 : 1)
    })
  }
})

// Proves decided "Redirects to the page itself"
it('a site that leads round in circles: no redirect is stored, and the reason names it', async () => {
  const domain = await queue.domain()
  await render(domain, RENDERED)
  const good = await stored(domain)
  const sql = 'select custom_domain from domain where id = $1'
  const { rows } = await queue.pool.query<{ custom_domain: string }>(sql, [domain])
  const location = `https://${rows[0]?.custom_domain}/?utm_source=self`
  await render(domain, { kind: 'redirect', status: 302, location })
  assert.deepEqual(await stored(domain), good)
  const [last] = await queue.records(domain)
  assert.deepEqual([last?.outcome, last?.detail], ['redirect-loop', location])
})

describe('an origin forbids to store', () => {
  const forbids = (...values: string[]) =>
    forbidsStoring(values.map((value) => ['Cache-Control', value] as const))
  for (const value of [
    ...['no-store', 'No-Store', 'private', 'max-age=0, no-cache,no-store ', 'private, max-age=600'],
  ])
    it(`with ${value}`, () => assert.equal(forbids(value), true))
  for (const value of [
    ...['no-cache', 'max-age=0, must-revalidate', 'public, max-age=600', 'private="set-cookie"'],
    ...['x="a, no-store, b"', 'x="\\", private, \\""', 'no-storey, un-private', '', ',,', '"'],
  ])
    it(`not with ${value || 'nothing'}`, () => assert.equal(forbids(value), false))

  it('in any of its headers, and in no other', () => {
    assert.equal(forbids('max-age=1', 'no-store'), true)
    assert.equal(forbidsStoring([['pragma', 'no-store']]), false)
  })

  it('and is read in no time, whatever it says', () => assert.equal(forbids('"\\'.repeat(50_000)), false))
})
