/** What becomes of a render without a page: the last good copy stays as it was, and its owner reads why. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { RenderOutcome, RenderOutcomeKind } from '@prepaint/contract/outcome/outcome.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { withReading } from '../../../../../test/support/outcome.ts'
import { columns, HOME, openQueue, paths, RENDERED, runNext } from '../../../../../test/support/queue.ts'
import { troubledRecord } from '../../../../../test/support/render-record.ts'
import { removeOldLastRenders } from '../../store/remove-expired.ts'
import {
  readUnstored,
  removeOldUnstored,
  UNSTORED_A_DOMAIN,
  UNSTORED_LIMIT_BYTES,
  UNSTORED_MS,
} from '../../store/stored-page.ts'
import type { ClaimedJob } from '../jobs/claim.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { forbidsStoring, MAX_FAULTS } from './effect.ts'
import { listRenders, RECORDS_A_PAGE, RecordKeeper, removeOldRecords } from './render-records.ts'

const queue = await openQueue()

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
  'site-error': [
    withReading({ kind: 'site-error', status: 503, headers: [], html: '<p>Back soon' }),
    'status 503',
  ],
  'not-html': [{ kind: 'not-html', contentType: 'application/json' }, 'application/json'],
  challenge: [{ kind: 'challenge', mark: 'Cloudflare' }, 'Cloudflare'],
  'error-page': [{ kind: 'error-page', mark: 'Next.js' }, 'Next.js'],
  'too-large': [{ kind: 'too-large', what: 'elements' }, 'elements'],
}

async function render(domain: DomainId, outcome: RenderOutcome): Promise<void> {
  await enqueue(queue.pool, domain, [HOME], 'live')
  // A crash comes again.
  for (let turn = 0; turn < MAX_FAULTS; turn++) {
    await queue.pool.query('update job set run_at = now()')
    await runNext(queue, async () => ({ outcome, record }))
  }
}

for (const [kind, [outcome, detail]] of Object.entries(BAD)) {
  it(`${kind}: the last good copy is served on, and the reason kept`, async () => {
    const domain = await queue.domain()
    await render(domain, outcome)
    assert.equal(await queue.page(domain), null)
    await render(domain, RENDERED)
    const good = await queue.page(domain)
    assert.equal(good?.status, 200)
    await render(domain, outcome)
    assert.deepEqual(await queue.page(domain), good)
    const [last] = await queue.records(domain)
    assert.deepEqual([last?.outcome, last?.detail, last?.path, last?.record], [kind, detail, '/', record])
    assert(Math.abs(Date.parse(last?.ended_at ?? '') - Date.now()) < 60_000)
    const sql = 'select state, outcome, detail, finished_at is not null as ended from every_job where id = $1'
    const { rows } = await queue.pool.query(sql, [last?.jobId])
    assert.deepEqual(rows, [{ state: 'failed', outcome: kind, detail, ended: true }])
    assert.equal(await queue.renders(domain), kind === 'site-error' ? 2 : 1)
  })
}

// Proves decided "Redirects to the page itself"
it('a site that leads round in circles: no redirect is stored, and the reason names it', async () => {
  const domain = await queue.domain()
  await render(domain, RENDERED)
  const good = await queue.page(domain)
  const [name] = await queue.column('select custom_domain from domain where id = $1', domain)
  const location = `https://${name}/?utm_source=self`
  await render(domain, { kind: 'redirect', status: 302, location })
  assert.deepEqual(await queue.page(domain), good)
  const [last] = await queue.records(domain)
  assert.deepEqual([last?.outcome, last?.detail], ['redirect-loop', location])
})

it('an origin forbids to store with no-store or private, as a directive of its own, in any of its headers, read in no time', () => {
  const forbids = (value: string) =>
    forbidsStoring([
      ['x', 'no-store'],
      ['Cache-Control', 'max-age=1'],
      ['Cache-Control', value],
    ])
  for (const value of ['No-Store', 'private', 'max-age=0, no-cache,no-store '])
    assert.equal(forbids(value), true, value)
  const others = ['max-age=0, must-revalidate', 'private="set-cookie"', 'no-storey, un-private', ',,', '"']
  for (const value of [...others, 'x="a, no-store, b"', 'x="\\", private, \\""', '"\\'.repeat(50_000)])
    assert.equal(forbids(value), false, value.slice(0, 50))
})

describe('an error of the moment: a page that is given once', () => {
  const headers: [string, string][] = [['retry-after', '120']]
  const html = '<!doctype html><h1>Back soon</h1>'
  const SORRY = { kind: 'site-error', status: 503, headers, html } as const
  const rows = async (domain: DomainId) =>
    (await queue.column('select 1 from unstored_page where domain_id = $1', domain)).length
  function clocked(atMs = systemClock.nowMs()) {
    const clock = { atMs, nowMs: () => clock.atMs }
    return { clock, complete: queue.completer({ clock }) }
  }

  it('an error page is given to the crawlers that wait, with its status and headers, counted and not stored; without a crawler it is dropped', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain)
    assert.deepEqual(await queue.complete(job, SORRY), { state: 'failed', outcome: 'site-error' })
    const page = await readUnstored(queue.pool, domain, job.id)
    assert.equal(await readUnstored(queue.pool, await queue.domain(), job.id), null, 'of another domain')
    assert.deepEqual([page?.status, page?.headers], [503, [['retry-after', '120']]])
    assert.equal(String(brotliDecompressSync(page!.bodyBr)), SORRY.html)
    assert.equal(await queue.page(domain), null)
    assert.equal(await queue.renders(domain), 1)
    const unread = await queue.domain()
    await queue.complete(await queue.running(unread, HOME, 'refresh'), SORRY)
    assert.deepEqual([await rows(unread), await queue.renders(unread)], [0, 0])
    const joined = await queue.running(unread, HOME, 'refresh')
    await enqueue(queue.pool, unread, [HOME], 'live')
    await queue.complete(joined, SORRY)
    assert.equal(await rows(unread), 1, 'who joined while it ran')
  })

  // Proves decided "Temporary errors set by a page"
  it('an error page is not given beside a good copy, which is served on until the end of its keep time', async () => {
    const domain = await queue.domain()
    const { clock, complete } = clocked()
    await complete(await queue.running(domain), RENDERED)
    const before = await queue.page(domain)
    clock.atMs += 30 * 86_400_000 - 1
    await complete(await queue.running(domain), SORRY)
    assert.deepEqual([await rows(domain), await queue.renders(domain)], [0, 1])
    assert.deepEqual(await queue.page(domain), before)
    clock.atMs += 1
    await complete(await queue.running(domain), SORRY)
    assert.equal(await rows(domain), 1)
  })

  it('an incomplete page is given, counted and rendered again in the background; that of a background render is not', async () => {
    const page = { status: 200, headers: [], html: '<!doctype html><h1>half</h1>' }
    const half = { kind: 'incomplete', reason: 'no answer to GET /data', page } as const
    const domain = await queue.domain()
    const job = await queue.running(domain)
    assert.deepEqual(await queue.complete(job, half), { state: 'failed', outcome: 'incomplete' })
    const given = await readUnstored(queue.pool, domain, job.id)
    assert.equal(String(brotliDecompressSync(given!.bodyBr)), page.html)
    assert.equal(await queue.renders(domain), 1)
    const jobs = async () => columns(await queue.jobs(domain), 'state', 'priority').map(String)
    assert.deepEqual(await jobs(), ['failed,0', 'queued,1'])
    await queue.complete((await queue.claim())[0]!, half)
    assert.deepEqual(await jobs(), ['failed,0', 'failed,1'])
    assert.deepEqual([await rows(domain), await queue.renders(domain)], [1, 1])
    assert.equal(await queue.page(domain), null)
  })

  it('a page that a crawler got without a probable long poll is stored, and rendered again in the background', async () => {
    const domain = await queue.domain()
    const missing = 'no answer to GET /poll'
    const job = await queue.running(domain)
    await queue.complete({ ...job, captureByMs: 9_000 }, { ...SORRY, kind: 'rendered', missing })
    assert.notEqual(await queue.page(domain), null)
    const jobs = async () => columns(await queue.jobs(domain), 'state', 'priority').map(String)
    assert.deepEqual(await jobs(), ['done,0', 'queued,1'])
    await queue.complete((await queue.claim())[0]!, { ...SORRY, kind: 'rendered', missing })
    assert.deepEqual(await jobs(), ['done,0', 'done,1'])
  })

  it('a page that is larger than error pages ever are is not given', async () => {
    // Random text packs to three quarters of its length.
    const letters = randomBytes(UNSTORED_LIMIT_BYTES).toString('base64')
    const sized = async (chars: number) => {
      const domain = await queue.domain()
      await queue.complete(await queue.running(domain), { ...SORRY, html: letters.slice(0, chars) })
      return rows(domain)
    }
    assert.equal(await sized(Math.floor(UNSTORED_LIMIT_BYTES * 1.2)), 1)
    assert.equal(await sized(letters.length), 0)
  })

  it(`a domain has at most ${UNSTORED_A_DOMAIN} such pages, of which the oldest goes for a new one`, async () => {
    const domain = await queue.domain()
    const { clock, complete } = clocked(1_000)
    const jobs: ClaimedJob[] = []
    for (let at = 0; at < UNSTORED_A_DOMAIN + 1; at++) {
      clock.atMs++
      jobs.push(await queue.running(domain))
      await complete(jobs[at]!, SORRY)
    }
    assert.equal(await rows(domain), UNSTORED_A_DOMAIN)
    assert.equal(await readUnstored(queue.pool, domain, jobs[0]!.id), null)
    for (const { id } of jobs.slice(1)) assert.notEqual(await readUnstored(queue.pool, domain, id), null)
  })

  it('a given page is removed after a minute, by the next one of any domain and by retention', async () => {
    const { clock, complete } = clocked()
    const [first, second] = [await queue.domain(), await queue.domain()]
    await complete(await queue.running(first), SORRY)
    clock.atMs += UNSTORED_MS
    await complete(await queue.running(second), SORRY)
    assert.equal(await rows(first), 1)
    clock.atMs += 1
    await complete(await queue.running(second), SORRY)
    assert.deepEqual([await rows(first), await rows(second)], [0, 2])
    assert.equal(await removeOldUnstored(queue.pool, clock.atMs + UNSTORED_MS), 1)
  })
})

describe('what is kept of renders', () => {
  const records = new RecordKeeper(queue.pool)
  const explained = { detail: null, claimedMs: systemClock.nowMs(), storedMs: 7.4, record }

  /** As many renders of a page as there are details. */
  async function rendered(domain: DomainId, path: PagePath, ...details: (string | null)[]): Promise<void> {
    const job = await queue.running(domain, path)
    for (const detail of details) await records.keep(job, { ...explained, outcome: 'blank', detail })
    await queue.complete(job, { kind: 'blank' })
  }

  // Proves decided "Render log"
  it('the last records of each page are kept, those of other pages are untouched', async () => {
    const domain = await queue.domain()
    await rendered(domain, '/b' as PagePath, 'other')
    await rendered(domain, HOME, ...Array.from({ length: RECORDS_A_PAGE + 1 }, (_, at) => `${at}`))
    const details = columns(await queue.records(domain), 'detail').flat()
    assert.deepEqual(details, [
      ...Array.from({ length: RECORDS_A_PAGE }, (_, at) => `${RECORDS_A_PAGE - at}`),
      'other',
    ])
  })

  // Proves decided "Last crawler of a page"
  it('how the last render of a path ended is known for 30 days, but not that of a probe', async () => {
    const domain = await queue.domain()
    for (const [path, ...outcomes] of [
      ['/', 'timed-out', 'blank'],
      ['/probe', 'probed'],
      ['/b', 'rendered'],
    ]) {
      const job = await queue.running(domain, path)
      for (const outcome of outcomes) await records.keep(job, { ...explained, outcome })
    }
    const last = () =>
      queue.column(
        `select path || ' ' || outcome from last_render where domain_id = $1 order by path`,
        domain,
      )
    assert.deepEqual(await last(), ['/ blank', '/b rendered'])
    await queue.pool.query(
      `update last_render set ended_at = now() - interval '30 days 1 minute' where domain_id = $1 and path = '/'`,
      [domain],
    )
    assert.equal(await removeOldLastRenders(queue.pool), 1)
    assert.deepEqual(await last(), ['/b rendered'])
  })

  it('records are listed newest first, in parts, without the paths that Prepaint makes up', async () => {
    const domain = await queue.domain()
    for (const path of paths(5)) await rendered(domain, path, null)
    await rendered(domain, HOME, 'why')
    await rendered(domain, '/prepaint-probe-1' as PagePath, null)
    await rendered(domain, '/prepaint-try-1' as PagePath, null)
    const list = (filter: object) => listRenders(queue.pool, domain, { limit: 4, ...filter })
    const first = await list({})
    assert.deepEqual([first.renders.length, first.renders[0]?.detail], [4, 'why'])
    const second = await list({ after: first.next })
    assert.deepEqual([second.renders.length, second.next], [2, null])
  })

  // Proves decided "Render log"
  it('records are removed after a week, in steps', async () => {
    const domain = await queue.domain()
    await rendered(domain, HOME, ...Array<null>(5).fill(null))
    const age = (interval: string) =>
      queue.pool.query('update render_record set ended_at = now() - $1::interval where domain_id = $2', [
        interval,
        domain,
      ])
    await age('6 days 23 hours')
    assert.equal(await removeOldRecords(queue.pool, systemClock.nowMs()), 0)
    await age('7 days 1 minute')
    assert.equal(await removeOldRecords(queue.pool, systemClock.nowMs(), { step: 2 }), 5)
  })
})
