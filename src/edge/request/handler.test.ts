import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { type AskOptions, GPTBOT, openEdge, PERSON, type Scripted } from '../../../test/support/edge.ts'
import { AppError } from '../../errors.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const edge = await openEdge()
beforeEach(() => edge.reset())

type Step =
  | ({ path: string } & AskOptions)
  | { wait: number }
  | { script: Scripted }
  | { set: object }
  | { active: boolean }
  | { sql: string }

const a = { path: '/a' }
const crash: Scripted = { kind: 'timed-out', afterMs: 1 }
const password = { headers: { authorization: 'Basic cmVkOnJlZA==' } }

describe('a sequence of requests', () => {
  // Proves interface 1/1, interface 1/2, interface 1/3
  const CASES: [name: string, steps: Step[], verdicts: string[]][] = [
    ['a page is rendered once, then served from memory', [a, a, a], ['rendered', 'hit', 'hit']],
    [
      'fresh for a day, stale for seven more, kept for failures until thirty',
      [
        ...[a, { wait: DAY - 1 }, a, { wait: 1 }, a, { wait: 7 * DAY - 1 }, a],
        ...[{ wait: 1 }, { script: crash }, a, { wait: 22 * DAY }, { script: crash }, a],
      ],
      ['rendered', 'hit', 'stale', 'stale', 'stale', 'pass; timed-out'],
    ],
    [
      'what a domain sets about freshness counts from the next request',
      [
        ...[a, { set: { fresh_seconds: 10, stale_seconds: 5 } }, { wait: 9_999 }, a],
        ...[{ wait: 1 }, a, { wait: 5_000 }, a],
      ],
      ['rendered', 'hit', 'stale', 'rendered'],
    ],
    [
      'the order of parameters and click-tracking do not matter, values do',
      [{ path: '/a?x=1&y=2' }, { path: '/a?utm_source=z&y=2&x=1' }, { path: '/a?x=2&y=1' }],
      ['rendered', 'hit', 'rendered'],
    ],
    [
      'a query that the domain ignores names no other page',
      [{ set: { query: 'ignore' } }, { path: '/a?x=1' }, { path: '/a?x=2' }],
      ['rendered', 'hit'],
    ],
    ['two encodings of one letter', [{ path: '/caf%C3%A9' }, { path: '/c%61f%c3%a9' }], ['rendered', 'hit']],
    [
      'HEAD is answered like GET',
      [{ ...a, method: 'HEAD' }, a, { ...a, method: 'HEAD' }],
      ['rendered', 'hit', 'hit'],
    ],
    [
      'what is not ours goes to the origin, and says why',
      [
        ...[
          { ...a, agent: PERSON, method: 'POST' },
          { ...a, agent: null },
          { ...a, method: 'POST' },
        ],
        { path: '/app.js' },
        ...[{ path: '/robots.txt' }, { path: '//else.example/x' }, { path: '/a%00' }],
        ...[
          { ...a, headers: { via: '1.1 prepaint' } },
          { ...a, headers: { via: '1.1 else' } },
        ],
      ],
      [
        ...['pass; not-a-crawler', 'pass; not-a-crawler', 'pass; method', 'pass; asset'],
        ...['pass; excluded', 'pass; path', 'pass; path', 'pass; loop', 'rendered'],
      ],
    ],
    // Proves decided "Inactive domain"
    [
      'an inactive domain passes, also what is stored; active again it is served',
      [a, { active: false }, a, { active: true }, a],
      ['rendered', 'pass; inactive', 'hit'],
    ],
    // Proves decided "Crawler detection"
    [
      'a crawler that the domain adds gets pages, here and nowhere else',
      [
        ...[a, { set: { crawlers: { add: [{ pattern: 'myshop', category: 'other' }] } } }],
        ...[
          { ...a, agent: 'MyShop/1.0' },
          { ...a, agent: 'MyShop/1.0', host: 'blue.example' },
        ],
      ],
      ['rendered', 'hit', 'pass; not-a-crawler'],
    ],
    [
      'a crawler that the domain removes gets what people get',
      [a, { set: { crawlers: { remove: ['GPTBot'] } } }, { ...a, agent: GPTBOT }, a],
      ['rendered', 'pass; not-a-crawler', 'hit'],
    ],
    // Proves decided "Further verdicts"
    [
      'a category that passes gets the origin, and the others pages',
      [
        a,
        { set: { categories: { ai: 'pass' } } },
        { ...a, agent: GPTBOT },
        { ...a, agent: 'Twitterbot/1.0' },
      ],
      ['rendered', 'pass; category', 'hit'],
    ],
    [
      'a crawler that the domain adds has the category that it is given',
      [
        {
          set: { crawlers: { add: [{ pattern: 'GPTBot', category: 'search' }] }, categories: { ai: 'pass' } },
        },
        { ...a, agent: GPTBOT },
      ],
      ['rendered'],
    ],
    // Proves decided "Further verdicts"
    [
      'a crawler that shows a password gets the origin',
      [{ ...a, ...password }, a, { ...a, ...password }, a],
      ['pass; authorization', 'rendered', 'pass; authorization', 'hit'],
    ],
    [
      'rules of the domain: pass, render, a freshness of their own',
      [
        {
          set: {
            rules: [
              { path: '/account/*', action: 'pass' },
              { path: '/news*', action: 'render', fresh_seconds: 60, stale_seconds: 5 },
              { path: '/feed.xml', action: 'render' },
            ],
          },
        },
        ...[{ path: '/account/orders' }, { path: '/accounts' }, { path: '/news/1' }, { wait: 60_000 }],
        ...[{ path: '/news/1' }, { wait: 5_000 }, { path: '/news/1' }, { path: '/feed.xml' }],
      ],
      ['pass; rule', 'rendered', 'rendered', 'stale', 'rendered', 'rendered'],
    ],
    [
      'a failed render goes to the origin and is not remembered',
      [{ script: crash }, a, a],
      ['pass; timed-out', 'rendered'],
    ],
    [
      'a redirect is kept in its own cache',
      [{ script: { kind: 'redirect', status: 301, location: '/new' } }, a, a, { wait: DAY }, a],
      ['rendered', 'hit', 'stale'],
    ],
    // Proves interface 1/9, interface 8/7
    [
      'a temporary redirect and a 404 are asked for again after an hour',
      [
        ...[{ script: { kind: 'redirect', status: 302, location: '/new' } as Scripted }, { path: '/old' }],
        ...[{ script: { kind: 'rendered', status: 404, headers: [], html: 'gone' } as Scripted }, a],
        ...[{ wait: HOUR - 1 }, { path: '/old' }, a, { wait: 1 }, { path: '/old' }, a],
      ],
      ['rendered', 'rendered', 'hit', 'hit', 'stale', 'rendered'],
    ],
    // Proves interface 1/9, interface 8/7
    [
      'at 120 % of the month misses pass and hits are served',
      [
        ...[a, { sql: 'update render_count set renders = 1199' }, { path: '/b' }],
        ...[{ path: '/c' }, a, { path: '/b' }],
      ],
      ['rendered', 'rendered', 'pass; over-quota', 'hit', 'hit'],
    ],
  ]
  for (const [name, steps, verdicts] of CASES) {
    it(name, async () => assert.deepEqual(await play(steps), verdicts))
  }
})

it('a stale page that is asked for often queues one refresh', async () => {
  await edge.ask('/a')
  edge.wait(2 * DAY)
  for (let times = 0; times < 5; times++) await edge.ask('/a')
  assert.deepEqual(edge.refreshed, ['/a'])
  edge.wait(10_000)
  await edge.ask('/a')
  assert.deepEqual(edge.refreshed, ['/a', '/a'])
})

it('a stale page is fresh again once its refresh has run', async () => {
  await edge.ask('/a')
  edge.wait(2 * DAY)
  assert.match(String((await edge.ask('/a')).body), /render 1/)
  await until('it is refreshed', () => edge.work().then(() => edge.rendered.length === 2))
  await until('it is fresh', async () => (await edge.verdict('/a')) === 'hit')
  assert.match(String((await edge.ask('/a')).body), /render 2/)
})

it('a crawler waits until the deadline, then gets the origin; the job goes on and fills the cache', async (t) => {
  const impatient = await openEdge({ liveWaitMs: 50 }, t)
  impatient.script('hang')
  const answer = await impatient.ask('/a')
  assert.equal(answer.verdict, 'pass; late')
  assert.match(String(answer.body), /<div id="app">/)
  // Its job may only now be on its way into the queue.
  await until('its job runs', () => impatient.work().then(() => impatient.rendered.length === 1))
  assert.equal(await impatient.verdict('/a'), 'hit')
})

it('many crawlers at one page are one render', async () => {
  let arrived = 0
  const count = () => arrived++
  edge.server.on('request', count)
  edge.script('hang')
  const asking = Promise.all(Array.from({ length: 20 }, () => edge.ask('/busy')))
  await until('all are there', async () => (await jobs()) === 1 && arrived === 20)
  await edge.work()
  const answers = await asking
  edge.server.off('request', count)
  assert.deepEqual(edge.rendered, ['red.example/busy'])
  assert.equal(new Set(answers.map(({ body }) => String(body))).size, 1)
  assert(answers.every(({ verdict }) => verdict === 'rendered' || verdict === 'hit'))
})

it('a full queue passes', async (t) => {
  const enqueueLive = () => Promise.reject(new AppError('queue_full'))
  const full = await openEdge({ parts: { enqueueLive } }, t)
  assert.equal(await full.verdict('/a'), 'pass; queue-full')
})

describe('tenants', () => {
  it("one domain's page is never another's, and each gets its own", async () => {
    for (const _ of [1, 2]) {
      assert.match(String((await edge.ask('/price')).body), /red\.example\/price/)
      assert.match(String((await edge.ask('/price', { host: 'blue.example' })).body), /blue\.example\/price/)
    }
    assert.deepEqual(edge.rendered, ['red.example/price', 'blue.example/price'])
  })

  it('a host is known from the moment of its registration, and unknown from its deletion', async () => {
    assert.equal((await edge.ask('/a', { host: 'new.example' })).status, 404)
    await edge.addDomain('new.example')
    await until('it is known', async () => (await edge.ask('/a', { host: 'new.example' })).status === 200)
    await edge.pool.query(`delete from domain where custom_domain = 'new.example'`)
    await edge.pool.query(`select pg_notify('invalidate', '{"host": "new.example"}')`)
    await until('it is unknown', async () => (await edge.ask('/a', { host: 'new.example' })).status === 404)
  })
})

it('known paths: remembers what crawlers asked for, in batches, and no 404', async () => {
  edge.script({ kind: 'rendered', status: 404, headers: [], html: 'gone' })
  await edge.ask('/known-404')
  await edge.ask('/known-a')
  await edge.ask('/known-a?utm_source=x')
  await edge.ask('/known-b', { agent: PERSON })
  edge.script({ kind: 'blank' })
  await edge.ask('/known-c')
  await edge.asked.flush()
  const { rows } = await edge.pool.query<{ path: string }>(
    `select path from known_path where domain_id = $1 and source = 'crawler' and path like '%known%' order by path`,
    [edge.red],
  )
  assert.deepEqual(
    rows.map(({ path }) => path),
    ['/known-a', '/known-c'],
  )
})

describe('when PostgreSQL cannot be asked', () => {
  it('crawlers get the origin; what is in memory is served on', async (t) => {
    let broken = false
    const node = await openEdge({ queries: ({ name }) => fails(broken && name === 'stored-page-read') }, t)
    assert.deepEqual([await node.verdict('/a'), await node.verdict('/a')], ['rendered', 'hit'])
    broken = true
    assert.deepEqual([await node.verdict('/a'), await node.verdict('/b')], ['hit', 'pass; database'])
  })

  it('a host that is not in memory gets 503, with a time to come back', async (t) => {
    const node = await openEdge({ queries: ({ name }) => fails(name === 'domain-by-host') }, t)
    const { status, verdict, headers } = await node.ask('/a')
    assert.deepEqual([status, verdict, headers['retry-after']], [503, 'none; fault', '30'])
  })

  function fails(does: boolean): void {
    if (does) throw new Error('no database')
  }
})

// Test support

async function jobs(): Promise<number> {
  return (await edge.pool.query('select from job')).rowCount ?? 0
}

async function play(steps: Step[]): Promise<(string | undefined)[]> {
  const verdicts: (string | undefined)[] = []
  for (const step of steps) {
    if ('wait' in step) edge.wait(step.wait)
    else if ('script' in step) edge.script(step.script)
    else if ('sql' in step) await edge.pool.query(step.sql)
    else if ('set' in step) await edge.settings(step.set)
    else if ('active' in step) await edge.set(`is_active = ${step.active}`)
    else verdicts.push(await edge.verdict(step.path, step))
  }
  return verdicts
}
