/** What a crawler gets when a render brings no page, or one that is not to be stored. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { PERSON, type Scripted, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import { findingOf } from '../../queue/judging/soft-404.ts'

const DAY = 24 * 3_600_000

let edge: TestEdge
/** Crawlers that have come as far as to be rendered for: each waits from then on. */
let waiting = 0
const verifyCrawler = () => {
  waiting++
  return 'verified' as const
}
before(async () => {
  edge = await startTestEdge({ parts: { verifyCrawler } })
})
after(() => edge.close())
beforeEach(async () => {
  await edge.purge({ kind: 'all' })
  await edge.pool.query('delete from job')
  await edge.settled()
  edge.rendered.length = 0
})

describe('a render that brings no page', () => {
  const BAD: Scripted[] = [
    { kind: 'timed-out', afterMs: 1 },
    { kind: 'blank' },
    { kind: 'origin-error', status: 502 },
    { kind: 'origin-unreachable', reason: 'refused' },
    { kind: 'challenge', mark: 'Cloudflare' },
    { kind: 'error-page', mark: 'Next.js' },
    { kind: 'too-large', what: 'elements' },
    { kind: 'not-html', contentType: 'application/json' },
  ]
  for (const bad of BAD) {
    const { kind } = bad as { kind: string }
    it(`${kind}: the last good copy is served on; without one the origin answers`, async () => {
      const good = await edge.ask('/a')
      edge.wait(9 * DAY)
      edge.script(bad)
      const kept = await edge.ask('/a')
      assert.deepEqual([kept.status, kept.verdict, kept.body], [200, 'stale', good.body])
      edge.script(bad)
      assert.equal(await edge.verdict('/b'), `pass; ${kind}`)
    })
  }
})

describe('a page that is not complete when its crawler has to be answered', () => {
  const page = { status: 200, headers: [] as [string, string][], html: '<h1>Half of it</h1>' }
  const HALF: Scripted = { kind: 'incomplete', reason: 'no answer to GET /data', page }
  /** Queued after the crawler has its answer. */
  const queuedNext = () =>
    until('the next render is queued', async () => {
      const { rows } = await edge.pool.query(
        'select path, priority, state from job where finished_at is null',
      )
      return rows.length > 0 && rows
    })

  it('is given to who waits and not kept; the whole one is rendered at once, in the background', async () => {
    edge.script(HALF)
    const answer = await edge.ask('/a', { headers: { 'accept-encoding': 'identity' } })
    assert.deepEqual([answer.status, answer.verdict, String(answer.body)], [200, 'rendered', page.html])
    assert.deepEqual(await queuedNext(), [{ path: '/a', priority: 1, state: 'queued' }])
    const { rows: stored } = await edge.pool.query('select path from page')
    assert.deepEqual(stored, [])
  })

  it('beside a good copy, that is served on', async () => {
    const good = await edge.ask('/a')
    edge.wait(9 * DAY)
    edge.script(HALF)
    const kept = await edge.ask('/a')
    assert.deepEqual([kept.status, kept.verdict, kept.body], [200, 'stale', good.body])
  })

  it('with nothing to see, the origin answers', async () => {
    edge.script({ kind: 'incomplete', reason: 'no answer to GET /data', page: null })
    assert.equal(await edge.verdict('/a'), 'pass; incomplete')
    assert.deepEqual(await queuedNext(), [{ path: '/a', priority: 1, state: 'queued' }])
  })
})

describe('a page that says itself that it is an error of the moment', () => {
  const SORRY: Scripted = {
    kind: 'site-error',
    status: 503,
    headers: [['retry-after', '120']],
    html: '<h1>Back soon</h1>',
  }

  // Proves decided "Temporary errors set by a page"
  it('is given with its status to who waits, and rendered anew for the next', async () => {
    edge.script(SORRY, SORRY)
    for (let asked = 0; asked < 2; asked++) {
      const answer = await edge.ask('/a', { headers: { 'accept-encoding': 'identity' } })
      assert.deepEqual([answer.status, answer.verdict, String(answer.body)], [503, 'rendered', SORRY.html])
      assert.equal(answer.headers['retry-after'], '120')
      assert.equal(answer.headers['cache-status'], 'Prepaint; fwd=miss')
    }
    assert.equal(await edge.verdict('/a'), 'rendered')
    assert.equal(await edge.verdict('/a'), 'hit')
    assert.equal(edge.rendered.length, 3)
  })

  // Proves decided "Temporary errors set by a page"
  it('also where the renderer is at another node, to all who wait at any', async () => {
    const other = await edge.node()
    const before = waiting
    try {
      edge.script('hang', 'hang')
      const asked = [edge.ask('/a'), edge.ask('/a'), other.ask('/a')]
      await until(
        'all wait',
        () => waiting - before === asked.length && edge.waiting() + other.waiting() === 2,
      )
      assert.equal(await jobs(), 1)
      edge.script(SORRY)
      await edge.work()
      for (const { status, verdict, headers } of await Promise.all(asked)) {
        assert.deepEqual([status, verdict, headers['retry-after']], [503, 'rendered', '120'])
      }
      assert.equal(edge.rendered.length, 1)
    } finally {
      await other.close()
    }
  })

  it('not where there is a last good copy', async () => {
    assert.equal(await edge.verdict('/a'), 'rendered')
    edge.wait(9 * DAY)
    edge.script(SORRY)
    const answer = await edge.ask('/a')
    assert.deepEqual([answer.status, answer.verdict], [200, 'stale'])
  })

  it('HEAD, and a condition that its ETag would meet', async () => {
    edge.script(SORRY, SORRY)
    const head = await edge.ask('/a', { method: 'HEAD' })
    assert.deepEqual([head.status, head.body.length], [503, 0])
    const again = await edge.ask('/a', { headers: { 'if-none-match': String(head.headers.etag) } })
    assert.equal(again.status, 503)
  })
})

describe('a page that reads like none', () => {
  const look = (path: string, text: string) => ({ path, html: `<body>${text}</body>`, application: null })
  const html = look('', 'Nothing here').html
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
    const { rowCount } = await edge.pool.query(`select from known_path where path = '/none'`)
    assert.equal(rowCount, 0)
  })

  it('leaves the last good copy in service', async () => {
    const good = await edge.ask('/a')
    edge.wait(9 * DAY)
    edge.script(NONE)
    const kept = await edge.ask('/a')
    assert.deepEqual([kept.status, kept.verdict, kept.body], [200, 'stale', good.body])
  })

  it('is a 404 with its own text where the owner wants that, kept and counted as one; people get the origin’s answer', async () => {
    const renders = async () =>
      (await edge.pool.query<{ sum: number }>('select coalesce(sum(renders), 0)::int as sum from render_day'))
        .rows[0]?.sum ?? 0
    const good = await edge.ask('/a')
    await edge.set(`settings = '{"soft_404": "answer"}'`)
    await edge.settled()
    const before = await renders()
    edge.script(NONE)
    for (const verdict of ['rendered', 'hit', 'hit']) {
      const none = await edge.ask('/none', { headers: { 'accept-encoding': 'identity' } })
      assert.deepEqual([none.status, none.verdict, String(none.body)], [404, verdict, html])
    }
    assert.equal((await edge.ask('/none', { method: 'HEAD' })).status, 404)
    assert.equal(await renders(), before + 1)
    const person = await edge.ask('/none', { agent: PERSON })
    assert.deepEqual([person.status, person.verdict], [200, 'pass; not-a-crawler'])
    await edge.asked.flush()
    assert.equal((await edge.pool.query(`select from known_path where path = '/none'`)).rowCount, 0)

    edge.wait(9 * DAY)
    edge.script(NONE)
    const gone = await edge.ask('/a')
    assert.deepEqual([good.status, gone.status, gone.verdict], [200, 404, 'rendered'])
    await edge.set(`settings = '{}'`)
    await edge.settled()
  })

  it('is a page on another domain', async () => {
    edge.script(NONE)
    assert.equal(await edge.verdict('/none', { host: 'blue.example' }), 'rendered')
  })
})

async function jobs(): Promise<number> {
  return (await edge.pool.query('select from job')).rowCount ?? 0
}
