/** A render that is far worse than the last good copy does not take its place, unless it is seen again. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { HOME, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { transaction } from '../../db/transaction.ts'
import type { DomainId } from '../../ids.ts'
import type { LastGood } from '../../store/keep-page.ts'
import { pageId } from '../../store/page-id.ts'
import { purgePages } from '../../store/purge.ts'
import { readStored } from '../../store/stored-page.ts'
import { createComplete } from '../jobs/complete.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { REFUSED_FOR_MS, refusalOf, SHRINK_FROM_CHARS } from './judge-page.ts'

const LAST: LastGood = { status: 200, textChars: 900, renderedAtMs: 0, refusedAtMs: null, keepMs: 1_000_000 }

describe('what is refused', () => {
  const outcome = (fresh: { status: number; textChars: number }, last: Partial<LastGood> = {}, nowMs = 1) =>
    refusalOf(fresh, { ...LAST, ...last }, nowMs)?.outcome ?? null

  it('less than a third of the text, of a page that has some', () => {
    assert.equal(outcome({ status: 200, textChars: 299 }), 'shrunk')
    assert.equal(outcome({ status: 200, textChars: 300 }), null)
    assert.equal(outcome({ status: 200, textChars: 1 }, { textChars: SHRINK_FROM_CHARS }), 'shrunk')
    assert.equal(outcome({ status: 200, textChars: 1 }, { textChars: SHRINK_FROM_CHARS - 1 }), null)
    assert.equal(outcome({ status: 200, textChars: 1 }, { textChars: null }), null)
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
    assert.equal(outcome({ status: 403, textChars: 900 }), 'origin-error')
    assert.equal(outcome({ status: 404, textChars: 1 }), null)
    assert.equal(outcome({ status: 410, textChars: 1 }), null)
    assert.equal(outcome({ status: 403, textChars: 1 }, { status: 403 }), null)
  })

  it('not for ever: seen again later, or past the keep time, it is believed', () => {
    const fresh = { status: 200, textChars: 1 }
    assert.equal(outcome(fresh, { refusedAtMs: 0 }, REFUSED_FOR_MS - 1), 'shrunk')
    assert.equal(outcome(fresh, { refusedAtMs: 0 }, REFUSED_FOR_MS), null)
    assert.equal(outcome(fresh, {}, LAST.keepMs - 1), 'shrunk')
    assert.equal(outcome(fresh, {}, LAST.keepMs), null)
  })
})

describe('in the store', () => {
  let queue: TestQueue
  const clock = { atMs: Date.parse('2026-11-15T12:00:00Z'), nowMs: () => clock.atMs }
  before(async () => {
    queue = await testQueue()
  })
  after(() => queue.close())

  const FULL = 'A whole page of words. '.repeat(60)
  const SHELL = 'Header and footer.'

  async function render(domain: DomainId, text: string, status = 200) {
    await enqueue(queue.pool, domain, [HOME], 'live')
    const [job] = await queue.claim()
    assert(job !== undefined)
    const complete = createComplete({ pool: queue.pool, plans: DEFAULT_PLANS, clock })
    const html = `<html><body><p>${text}</p></body></html>`
    const { state, ...rest } = await complete(job, { kind: 'rendered', status, headers: [], html })
    return 'outcome' in rest ? `${state} ${rest.outcome}` : state
  }
  async function stored(domain: DomainId): Promise<number | undefined> {
    const page = await readStored(queue.pool, pageId(domain, HOME))
    return page?.kind === 'page' ? page.htmlBytes : undefined
  }

  // Proves decided "Bad renders"
  it('the last good copy stays, and why is written with the job', async () => {
    const domain = await queue.domain()
    assert.equal(await render(domain, FULL), 'done rendered')
    const whole = await stored(domain)
    assert.equal(await render(domain, SHELL), 'failed shrunk')
    assert.equal(await render(domain, FULL, 403), 'failed origin-error')
    assert.equal(await stored(domain), whole)
    const { rows } = await queue.pool.query(
      'select outcome, detail from job where domain_id = $1 order by created_at',
      [domain],
    )
    assert.match(rows[1].detail, /^18 characters of text; the last good copy has 13\d\d$/)
    assert.equal(rows[2].detail, 'status 403; the last good copy has 200')
  })

  // Proves decided "Bad renders"
  it('a page that really shrank is taken the second time', async () => {
    const domain = await queue.domain()
    await render(domain, FULL)
    assert.equal(await render(domain, SHELL), 'failed shrunk')
    clock.atMs += REFUSED_FOR_MS - 1
    assert.equal(await render(domain, SHELL), 'failed shrunk', 'the first doubt counts')
    clock.atMs += 1
    assert.equal(await render(domain, SHELL), 'done rendered')
  })

  it('a good render between the two begins anew', async () => {
    const domain = await queue.domain()
    await render(domain, FULL)
    await render(domain, SHELL)
    assert.equal(await render(domain, FULL), 'done rendered')
    clock.atMs += REFUSED_FOR_MS
    assert.equal(await render(domain, SHELL), 'failed shrunk')
  })

  it('is over when the keep time of the domain is, and when its owner purges', async () => {
    const domain = await queue.domain()
    await queue.pool.query(`update domain set settings = '{"keep_seconds": 60}' where id = $1`, [domain])
    await render(domain, FULL)
    assert.equal(await render(domain, SHELL), 'failed shrunk')
    clock.atMs += 60_000
    assert.equal(await render(domain, SHELL), 'done rendered')

    await render(domain, FULL)
    await transaction(queue.pool, (client) => purgePages(client, domain, { kind: 'all' }))
    assert.equal(await render(domain, SHELL), 'done rendered')
  })

  it('takes no render of the month', async () => {
    const domain = await queue.domain()
    await render(domain, FULL)
    await render(domain, SHELL)
    const { rows } = await queue.pool.query('select renders from render_count where domain_id = $1', [domain])
    assert.equal(rows[0].renders, 1)
  })
})
