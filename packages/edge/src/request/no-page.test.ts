/** What a crawler gets when a render brings no page, or one that is not to be stored. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { until } from '../../../../test/support/condition.ts'
import { openEdge, PERSON, type Scripted } from '../../../../test/support/edge.ts'
import { type UnreadOutcome, withReading } from '../../../../test/support/outcome.ts'
import { findingOf } from '../../../pages/src/queue/judging/soft-404.ts'

const DAY = 24 * 3_600_000

/** Crawlers that have come as far as to be rendered for: each waits from then on. */
let waiting = 0
const verifyCrawler = () => {
  waiting++
  return 'verified' as const
}
const edge = await openEdge({ parts: { verifyCrawler } })
beforeEach(() => edge.reset())

const given = async (path: string) => {
  const { status, verdict, body } = await edge.ask(path)
  return [status, verdict, String(body)]
}
const count = async (rows: string) => (await edge.pool.query(`select from ${rows}`)).rowCount

const CHALLENGE: UnreadOutcome = { kind: 'challenge', mark: 'Cloudflare' }
const HALF = { kind: 'incomplete', reason: 'no answer to GET /data' } as const
const HALF_PAGE = { status: 200, headers: [] as [string, string][], html: '<h1>Half of it</h1>' }
const SORRY: Scripted = {
  ...{ kind: 'site-error', status: 503, headers: [['retry-after', '120']], html: '<h1>Back soon</h1>' },
}

/** The last good copy of `/a` is served on when its render brings this. */
async function assertKept(outcome: Scripted): Promise<void> {
  const good = await edge.ask('/a')
  edge.wait(9 * DAY)
  edge.script(outcome)
  assert.deepEqual(await given('/a'), [200, 'stale', String(good.body)])
}

it('a last good copy is served on when a render brings no page, half of one, or an error of the moment', async () => {
  for (const outcome of [CHALLENGE, { ...HALF, page: HALF_PAGE }, SORRY]) {
    await edge.reset()
    await assertKept(outcome)
  }
})

describe('a page that is not complete when its crawler has to be answered', () => {
  const queued = `job where path = '/a' and priority = 1`
  const isQueuedNext = () => until('the next render is queued', async () => (await count(queued)) === 1)

  it('is given to the crawlers that wait and not kept; the whole page is rendered at once in the background', async () => {
    edge.script({ ...HALF, page: HALF_PAGE })
    assert.deepEqual(await given('/a'), [200, 'rendered', HALF_PAGE.html])
    await isQueuedNext()
    assert.equal(await count('page'), 0)
  })

  it('is passed to the origin if there is nothing to see', async () => {
    edge.script({ ...HALF, page: null })
    assert.equal(await edge.verdict('/a'), 'pass; incomplete')
    await isQueuedNext()
  })
})

describe('a page that says itself that it is an error of the moment', () => {
  // Proves decided "Temporary errors set by a page"
  it('is given with its status to the crawlers that wait, and rendered anew for the next', async () => {
    edge.script(SORRY, SORRY)
    assert.deepEqual(await given('/a'), [503, 'rendered', SORRY.html])
    const { headers } = await edge.ask('/a')
    assert.deepEqual([headers['retry-after'], headers['cache-status']], ['120', 'Prepaint; fwd=miss'])
    assert.deepEqual([await edge.verdict('/a'), await edge.verdict('/a')], ['rendered', 'hit'])
    assert.equal(edge.rendered.length, 3)
  })

  // Proves decided "Temporary errors set by a page"
  it('is given to all crawlers that wait at any node, also if another node renders', async (t) => {
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
})

describe('a page that reads like none', () => {
  const html = '<body>Nothing here</body>'
  const look = (path: string, text: string) => {
    const { words } = withReading({ html: `<body>${text}</body>` }).reading
    return { path, words, application: null }
  }
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

  beforeEach(() => edge.settings({ soft_404: 'refuse' }))

  async function assertUnknown(path: string): Promise<void> {
    await edge.asked.flush()
    assert.equal(await count(`known_path where path = '${path}'`), 0)
  }

  it('passes, with the reason; the next one that asks is not served from it either, and it is no known path', async () => {
    edge.script(NONE, NONE)
    for (let asked = 0; asked < 2; asked++) {
      assert.equal(await edge.verdict('/none'), 'pass; soft-404')
      edge.wait(DAY)
    }
    assert.equal(edge.rendered.length, 2)
    await assertUnknown('/none')
  })

  it('leaves the last good copy in service', () => assertKept(NONE))

  it('is a 404 with its own text where the owner wants that, kept and counted as one; people get the origin’s answer', async () => {
    assert.equal(await edge.verdict('/a'), 'rendered')
    await edge.settings({ soft_404: 'answer' })
    edge.script(NONE)
    for (const wanted of ['rendered', 'hit']) assert.deepEqual(await given('/none'), [404, wanted, html])
    assert.equal(await edge.counted(), 2)
    const person = await edge.ask('/none', { agent: PERSON })
    assert.deepEqual([person.status, person.verdict], [200, 'pass; not-a-crawler'])
    await assertUnknown('/none')
    edge.wait(9 * DAY)
    edge.script(NONE)
    assert.deepEqual(await given('/a'), [404, 'rendered', html])
  })
})

describe("what the origin's Cache-Control says about storing", () => {
  const page = (cacheControl: string, html = '<h1>page</h1>'): UnreadOutcome => ({
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
      assert.deepEqual(await given('/a'), [200, 'rendered', html])
    }
    assert.deepEqual([await count('page'), await edge.counted()], [0, 2])
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
    assert.deepEqual([await count('page'), await count('redirect'), await edge.counted()], [0, 0, 1])
    edge.script({ ...redirect, cacheControl: 'no-cache' })
    assert.deepEqual(await twice('/a'), ['rendered', 'hit'])
  })
})
