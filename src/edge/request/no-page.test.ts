/** What a crawler gets when a render brings no page, or one that is not to be stored. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { openEdge, PERSON, type Scripted } from '../../../test/support/edge.ts'
import { findingOf } from '../../queue/judging/soft-404.ts'
import type { RenderOutcome } from '../../render/outcome.ts'

const DAY = 24 * 3_600_000

/** Crawlers that have come as far as to be rendered for: each waits from then on. */
let waiting = 0
const verifyCrawler = () => {
  waiting++
  return 'verified' as const
}
const edge = await openEdge({ parts: { verifyCrawler } })
beforeEach(() => edge.reset())

const plain = (path: string) => edge.ask(path, { headers: { 'accept-encoding': 'identity' } })
const count = async (rows: string) => (await edge.pool.query(`select from ${rows}`)).rowCount
const renders = async () =>
  (await edge.pool.query<{ n: number }>('select coalesce(sum(renders), 0)::int as n from render_count'))
    .rows[0]!.n

/** The last good copy of `/a` is served on when its render brings this. */
async function assertKept(outcome: Scripted): Promise<void> {
  const good = await edge.ask('/a')
  edge.wait(9 * DAY)
  edge.script(outcome)
  const { status, verdict, body } = await edge.ask('/a')
  assert.deepEqual([status, verdict, body], [200, 'stale', good.body])
}

describe('a render that brings no page: the last good copy is served on; without one the origin answers', () => {
  const BAD: [outcome: RenderOutcome, detail: string][] = [
    [{ kind: 'too-large', what: 'memory' }, 'memory'],
    [{ kind: 'blank' }, 'no text, image or field'],
    [{ kind: 'challenge', mark: 'Cloudflare' }, 'Cloudflare'],
  ]
  for (const [outcome, detail] of BAD) {
    const { kind } = outcome
    it(kind, async () => {
      await assertKept(outcome)
      edge.script(outcome)
      const passed = await edge.ask('/b')
      assert.equal(passed.verdict, `pass; ${kind}`)
      assert.match(String(passed.body), /<div id="app">/)
      const { rows } = await edge.pool.query(`select outcome, detail from job where state = 'failed'`)
      assert.deepEqual(rows, Array(2).fill({ outcome: kind, detail }))
    })
  }
})

describe('a page that is not complete when its crawler has to be answered', () => {
  const page = { status: 200, headers: [] as [string, string][], html: '<h1>Half of it</h1>' }
  const HALF: Scripted = { kind: 'incomplete', reason: 'no answer to GET /data', page }
  const queued = `job where path = '/a' and priority = 1`
  const isQueuedNext = () => until('the next render is queued', async () => (await count(queued)) === 1)

  it('is given to who waits and not kept; the whole one is rendered at once, in the background', async () => {
    edge.script(HALF)
    const { status, verdict, body } = await plain('/a')
    assert.deepEqual([status, verdict, String(body)], [200, 'rendered', page.html])
    await isQueuedNext()
    assert.equal(await count('page'), 0)
  })

  it('beside a good copy, that is served on', () => assertKept(HALF))

  it('with nothing to see, the origin answers', async () => {
    edge.script({ kind: 'incomplete', reason: 'no answer to GET /data', page: null })
    assert.equal(await edge.verdict('/a'), 'pass; incomplete')
    await isQueuedNext()
  })
})

describe('a page that says itself that it is an error of the moment', () => {
  const SORRY: Scripted = {
    ...{ kind: 'site-error', status: 503, headers: [['retry-after', '120']], html: '<h1>Back soon</h1>' },
  }

  // Proves decided "Temporary errors set by a page"
  it('is given with its status to who waits, and rendered anew for the next', async () => {
    edge.script(SORRY, SORRY)
    for (let asked = 0; asked < 2; asked++) {
      const { status, verdict, body, headers } = await plain('/a')
      assert.deepEqual([status, verdict, String(body)], [503, 'rendered', SORRY.html])
      assert.deepEqual([headers['retry-after'], headers['cache-status']], ['120', 'Prepaint; fwd=miss'])
    }
    assert.deepEqual([await edge.verdict('/a'), await edge.verdict('/a')], ['rendered', 'hit'])
    assert.equal(edge.rendered.length, 3)
  })

  // Proves decided "Temporary errors set by a page"
  it('also where the renderer is at another node, to all who wait at any', async (t) => {
    const other = await edge.node()
    t.after(() => other.close())
    const before = waiting
    edge.script('hang', 'hang')
    const asked = [edge.ask('/a'), edge.ask('/a'), other.ask('/a')]
    await until('all wait', () => waiting - before === 3 && edge.waiting() + other.waiting() === 2)
    assert.equal(await count('job'), 1)
    edge.script(SORRY)
    await edge.work()
    for (const { status, verdict, headers } of await Promise.all(asked))
      assert.deepEqual([status, verdict, headers['retry-after']], [503, 'rendered', '120'])
    assert.equal(edge.rendered.length, 1)
  })

  it('not where there is a last good copy', () => assertKept(SORRY))
})

describe('a page that reads like none', () => {
  const look = (path: string, text: string) => ({ path, html: `<body>${text}</body>`, application: null })
  const { html } = look('', 'Nothing here')
  const NONE: Scripted = { kind: 'rendered', status: 200, headers: [], html }
  before(async () => {
    const finding = findingOf(look('/p-a', 'Nothing here'), look('/p-b', 'Nothing here'), look('/', 'Home'))
    await edge.pool.query(
      `insert into probe (domain_id, requested_at, renew_at, not_before, finding)
       values ($1, now(), now(), now(), $2)`,
      [edge.red, JSON.stringify(finding)],
    )
  })
  after(() => edge.pool.query('delete from probe'))

  it('passes, with the reason; the next one that asks is not served from it either, and it is no known path', async () => {
    edge.script(NONE, NONE)
    for (let asked = 0; asked < 2; asked++) assert.equal(await edge.verdict('/none'), 'pass; soft-404')
    await edge.asked.flush()
    assert.equal(await count(`known_path where path = '/none'`), 0)
  })

  it('leaves the last good copy in service', () => assertKept(NONE))

  it('is a 404 with its own text where the owner wants that, kept and counted as one; people get the origin’s answer', async () => {
    assert.equal(await edge.verdict('/a'), 'rendered')
    await edge.settings({ soft_404: 'answer' })
    edge.script(NONE)
    for (const wanted of ['rendered', 'hit', 'hit']) {
      const { status, verdict, body } = await plain('/none')
      assert.deepEqual([status, verdict, String(body)], [404, wanted, html])
    }
    assert.equal((await edge.ask('/none', { method: 'HEAD' })).status, 404)
    assert.equal(await renders(), 2)
    const person = await edge.ask('/none', { agent: PERSON })
    assert.deepEqual([person.status, person.verdict], [200, 'pass; not-a-crawler'])
    await edge.asked.flush()
    assert.equal(await count(`known_path where path = '/none'`), 0)

    edge.wait(9 * DAY)
    edge.script(NONE)
    const gone = await edge.ask('/a')
    assert.deepEqual([gone.status, gone.verdict], [404, 'rendered'])
  })
})

describe("what the origin's Cache-Control says about storing", () => {
  const page = (cacheControl: string, html = '<h1>page</h1>'): RenderOutcome => ({
    ...{ kind: 'rendered', status: 200, headers: [['cache-control', cacheControl]], html },
  })
  const respect = () => edge.settings({ origin_cache_control: 'respect' })
  /** Verdicts of two crawlers in turn. */
  const twice = async (path: string) => [await edge.verdict(path), await edge.verdict(path)]

  // Proves decided "The origin's `Cache-Control`"
  it('is ignored unless the owner says otherwise: shells of single-page apps say no-store as a rule', async () => {
    edge.script(page('no-store'))
    assert.deepEqual(await twice('/a'), ['rendered', 'hit'])
    assert.equal((await edge.ask('/a')).headers['cache-control'], 'private, no-cache')
  })

  // Proves decided "The origin's `Cache-Control`"
  it('where it is respected, a page is rendered for each who asks, and not stored', async () => {
    await respect()
    for (const forbids of ['no-store', 'private, max-age=600']) {
      const html = `<h1>${forbids}</h1>`
      edge.script(page(forbids, html))
      const { status, verdict, body, headers } = await plain('/a')
      assert.deepEqual([status, verdict, String(body)], [200, 'rendered', html])
      assert.equal(headers['cache-status'], 'Prepaint; fwd=miss')
    }
    assert.deepEqual([await count('page'), await renders()], [0, 2])
  })

  it('where it is respected, a copy of before is forgotten', async () => {
    await respect()
    edge.script(page('no-cache'))
    assert.deepEqual(await twice('/a'), ['rendered', 'hit'])
    edge.wait(25 * 3_600_000)
    assert.equal(await edge.verdict('/a'), 'stale')
    edge.script(page('no-store'), page('no-store'))
    await until('its refresh is queued', async () => (await count(`job where state = 'queued'`)) === 1)
    await edge.work()
    await edge.settled()
    assert.equal(await edge.verdict('/a'), 'rendered')
  })

  // Proves decided "The origin's `Cache-Control`"
  it('where it is respected, a redirect is not stored either: each crawler gets it from the origin', async () => {
    await respect()
    edge.script(page('no-cache'))
    assert.equal(await edge.verdict('/a'), 'rendered')
    const redirect = { kind: 'redirect', status: 302, location: 'https://red.example/b' } as const
    edge.wait(40 * DAY)
    for (const cacheControl of ['no-store', 'max-age=9, private']) {
      edge.script({ ...redirect, cacheControl })
      assert.equal(await edge.verdict('/a'), 'pass; no-store')
    }
    assert.deepEqual([await count('page'), await count('redirect'), await renders()], [0, 0, 1])
    edge.script({ ...redirect, cacheControl: 'no-cache' })
    assert.deepEqual(await twice('/a'), ['rendered', 'hit'])
  })

  it('where it is respected, and the month is used up, it is the origin that answers', async () => {
    await respect()
    await edge.pool.query('insert into render_count (domain_id, month, renders) values ($1, $2, 1200)', [
      edge.red,
      new Date(edge.nowMs()).toISOString().replace(/..T.*/, '01'),
    ])
    edge.script(page('no-store'))
    assert.equal(await edge.verdict('/a'), 'pass; over-quota')
  })
})
