/** What a rendered page is compared with: the last good copy, and what is known of pages that do not exist. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HOME, openQueue, RENDERED } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { systemClock } from '../../clock.ts'
import { transaction } from '../../db/transaction.ts'
import type { DomainId } from '../../ids.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import type { LastGood } from '../../store/keep-page.ts'
import { pageId } from '../../store/page-id.ts'
import { purgePages } from '../../store/purge.ts'
import { readStored } from '../../store/stored-page.ts'
import { createComplete } from '../jobs/complete.ts'
import { effectOf } from './effect.ts'
import { createPageKeeper, REFUSED_FOR_MS, refusalOf, SHRINK_FROM_CHARS } from './judge-page.ts'
import { wordsOf } from './soft-404.ts'

const HOUR = 3_600_000
const queue = await openQueue()
const clock = { atMs: Date.parse('2026-11-15T12:00:00Z'), nowMs: () => clock.atMs }
const complete = createComplete({ pool: queue.pool, plans: DEFAULT_PLANS, clock })

/** How a render of the home page ended, with the detail of its job, and the page that is stored then. */
async function render(domain: DomainId, found: RenderOutcome = RENDERED) {
  const job = await queue.running(domain, HOME, 'refresh')
  const { state } = await complete(job, found)
  const sql = 'select outcome, detail from job where id = $1'
  const { outcome, detail } = (await queue.pool.query(sql, [job.id])).rows[0]
  const page = await readStored(queue.pool, pageId(domain, HOME))
  assert(page?.kind === 'page')
  return { end: `${state} ${outcome}`, detail, page }
}

describe('what is refused', () => {
  const LAST: LastGood = {
    status: 200,
    textChars: 900,
    renderedAtMs: 0,
    refusedAtMs: null,
    keepMs: 1_000_000,
  }
  const outcome = (status: number, textChars: number, last: Partial<LastGood> = {}, nowMs = 1) =>
    refusalOf({ status, textChars }, { ...LAST, ...last }, nowMs)?.outcome ?? null

  it('less than a third of the text, of a page that has some', () => {
    assert.equal(outcome(200, 299), 'shrunk')
    assert.equal(outcome(200, 300), null)
    assert.equal(outcome(200, 1, { textChars: SHRINK_FROM_CHARS }), 'shrunk')
    assert.equal(outcome(200, 1, { textChars: SHRINK_FROM_CHARS - 1 }), null)
    assert.equal(outcome(200, 1, { textChars: null }), null)
    assert.equal(refusalOf({ status: 200, textChars: 1 }, null, 1), null)
  })

  it('less text than before where requests stayed unanswered', () => {
    const missing = 'no answer to GET /data'
    const fresh = { status: 200, textChars: 899, missing }
    assert.deepEqual(refusalOf(fresh, LAST, 1), { outcome: 'incomplete', detail: missing })
    assert.equal(refusalOf({ ...fresh, textChars: 900 }, LAST, 1), null)
    assert.equal(refusalOf({ ...fresh, missing: null }, LAST, 1), null)
    assert.equal(refusalOf(fresh, null, 1), null)
    assert.equal(refusalOf(fresh, { ...LAST, refusedAtMs: 0 }, REFUSED_FOR_MS), null)
  })

  it('an error status where there was none; but a page that is gone is gone', () => {
    assert.equal(outcome(403, 900), 'origin-error')
    assert.equal(outcome(404, 1), null)
    assert.equal(outcome(410, 1), null)
    assert.equal(outcome(403, 1, { status: 403 }), null)
  })
})

describe('a render that is far worse than the last good copy', () => {
  const page = (text: string, status = 200): RenderOutcome => ({
    ...{ kind: 'rendered', status, headers: [], html: `<html><body><p>${text}</p></body></html>` },
  })
  const FULL = page('A whole page of words. '.repeat(60))
  const SHELL = page('Header and footer.')
  const end = async (domain: DomainId, found: RenderOutcome) => (await render(domain, found)).end

  // Proves decided "Bad renders"
  it('leaves it, is not counted, and why is written with the job', async () => {
    const domain = await queue.domain()
    const whole = await render(domain, FULL)
    assert.equal(whole.end, 'done rendered')
    const shell = await render(domain, SHELL)
    assert.match(shell.detail, /^18 characters of text; the last good copy has 13\d\d$/)
    const forbidden = await render(domain, { ...FULL, status: 403 } as RenderOutcome)
    assert.deepEqual([shell.end, forbidden.end], ['failed shrunk', 'failed origin-error'])
    assert.equal(forbidden.detail, 'status 403; the last good copy has 200')
    assert.equal(forbidden.page.htmlBytes, whole.page.htmlBytes)
    assert.equal(await queue.renders(domain), 1)
  })

  // Proves decided "Bad renders"
  it('is taken the second time, when the page really shrank', async () => {
    const domain = await queue.domain()
    await render(domain, FULL)
    assert.equal(await end(domain, SHELL), 'failed shrunk')
    clock.atMs += REFUSED_FOR_MS - 1
    assert.equal(await end(domain, SHELL), 'failed shrunk', 'the first doubt counts')
    clock.atMs += 1
    assert.equal(await end(domain, SHELL), 'done rendered')
  })

  it('is refused anew after a good render between the two', async () => {
    const domain = await queue.domain()
    for (const found of [FULL, SHELL]) await render(domain, found)
    assert.equal(await end(domain, FULL), 'done rendered')
    clock.atMs += REFUSED_FOR_MS
    assert.equal(await end(domain, SHELL), 'failed shrunk')
  })

  it('is taken when the keep time of the domain is over, and when its owner purges', async () => {
    const domain = await queue.domain()
    await queue.set(domain, { keep_seconds: 60 })
    await render(domain, FULL)
    assert.equal(await end(domain, SHELL), 'failed shrunk')
    clock.atMs += 60_000 - 1
    assert.equal(await end(domain, SHELL), 'failed shrunk')
    clock.atMs += 1
    assert.equal(await end(domain, SHELL), 'done rendered')
    await render(domain, FULL)
    await transaction(queue.pool, (client) => purgePages(client, domain, { kind: 'all' }))
    assert.equal(await end(domain, SHELL), 'done rendered')
  })
})

describe('a render that brings the same as before', () => {
  // Proves decided "Unchanged snapshot"
  it('lengthens the life of the page, which is unchanged since and has the bytes that it had', async () => {
    const domain = await queue.domain()
    const firstMs = clock.atMs
    const first = await render(domain)
    assert.deepEqual([first.end, first.detail, first.page.changedAtMs], ['done rendered', null, firstMs])
    // Bytes that are written again are told by a mark.
    await queue.pool.query(`update page set body_br = '\\x1234', stale_since = now()`)

    clock.atMs += HOUR
    const second = await render(domain)
    assert.deepEqual([second.end, second.detail], ['done rendered', 'unchanged'])
    const { renderedAtMs, changedAtMs, staleSinceMs, bodyBr } = second.page
    assert.deepEqual([renderedAtMs, changedAtMs, staleSinceMs], [clock.atMs, firstMs, null])
    assert.equal(bodyBr.toString('hex'), '1234')

    clock.atMs += HOUR
    const other = await render(domain, { ...RENDERED, html: '<p>other' } as RenderOutcome)
    assert.deepEqual([other.detail, other.page.changedAtMs], [null, clock.atMs])
    assert.notEqual(other.page.bodyBr.toString('hex'), '1234')
    assert.equal(await queue.renders(domain), 3, 'the browser was at work')
  })

  it('but another status is a change', async () => {
    const domain = await queue.domain()
    await render(domain)
    clock.atMs += HOUR
    const gone = await render(domain, { ...RENDERED, status: 404 } as RenderOutcome)
    assert.deepEqual([gone.detail, gone.page.changedAtMs], [null, clock.atMs])
  })

  it('of an older version, which changed when it was rendered', async () => {
    const domain = await queue.domain()
    const firstMs = clock.atMs
    await render(domain)
    await queue.pool.query('update page set changed_at = null where domain_id = $1', [domain])
    clock.atMs += HOUR
    assert.equal((await render(domain)).page.changedAtMs, firstMs)
  })
})

describe('what becomes known of the site while a page is being compressed', () => {
  async function looked(domain: DomainId) {
    const job = await queue.running(domain, '/p')
    const effect = await effectOf(job, RENDERED)
    assert(effect.do === 'store-page')
    const keeper = createPageKeeper({ pool: queue.pool, plans: DEFAULT_PLANS, clock: systemClock })
    const known = await keeper.judge(job, effect.look)
    return { keep: () => keeper.keep(job, effect, known) }
  }

  /** The site has been looked at, and shows `html` where it has no page. */
  async function probed(domain: DomainId, html: string): Promise<void> {
    const finding = { kind: 'soft', application: null, words: wordsOf(html), spare: 0, echoes: false }
    await queue.pool.query(
      `insert into probe (domain_id, requested_at, renew_at, not_before, finding) values ($1, now(), now(), now(), $2)
       on conflict (domain_id) do update set renew_at = clock_timestamp(), finding = excluded.finding`,
      [domain, JSON.stringify(finding)],
    )
  }

  it('is what the page is judged by', async () => {
    const domain = await queue.domain()
    const { keep } = await looked(domain)
    assert(RENDERED.kind === 'rendered')
    await probed(domain, RENDERED.html)
    const kept = await keep()
    assert.equal(kept.kept === 'refused' && kept.outcome, 'soft-404')
    assert.deepEqual(await queue.stored(domain), [])
  })

  it('holds nothing up where it is the same as before', async () => {
    const domain = await queue.domain()
    await probed(domain, '<p>There is no such thing')
    const { keep } = await looked(domain)
    await probed(domain, '<p>There is no such thing')
    assert.equal((await keep()).kept, 'stored')
    assert.deepEqual(await queue.stored(domain), ['/p'])
  })
})
