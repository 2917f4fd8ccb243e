import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import {
  type AskOptions,
  PERSON,
  type Scripted,
  startTestEdge,
  type TestEdge,
} from '../../../test/support/edge.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

let edge: TestEdge
before(async () => {
  edge = await startTestEdge()
})
after(() => edge.close())
beforeEach(async () => {
  await edge.purge({ kind: 'all' })
  await edge.purge({ kind: 'all' }, edge.blue)
  await edge.pool.query('delete from job')
  await edge.pool.query('delete from render_count')
  await edge.set(`is_active = true, settings = '{}'`)
  await edge.settled()
  edge.rendered.length = 0
  edge.refreshed.length = 0
})

type Step =
  | ({ path: string } & AskOptions)
  | { wait: number }
  | { script: Scripted }
  | { set: string }
  | { sql: string }

describe('a sequence of requests', () => {
  // Proves interface 1/1, interface 1/2, interface 1/3
  const crash: Scripted = { kind: 'timed-out', afterMs: 1 }
  const cases: Record<string, { steps: Step[]; verdicts: string[] }> = {
    'a page is rendered once, then served from memory': {
      steps: [{ path: '/a' }, { path: '/a' }, { path: '/a' }],
      verdicts: ['rendered', 'hit', 'hit'],
    },
    'fresh for a day, stale for seven more, kept for failures until thirty': {
      steps: [
        { path: '/a' },
        { wait: DAY - 1 },
        { path: '/a' },
        { wait: 1 },
        { path: '/a' },
        { wait: 7 * DAY - 1 },
        { path: '/a' },
        { wait: 1 },
        { script: crash },
        { path: '/a' },
        { wait: 22 * DAY },
        { script: crash },
        { path: '/a' },
      ],
      verdicts: ['rendered', 'hit', 'stale', 'stale', 'stale', 'pass; timed-out'],
    },
    'what a domain sets about freshness counts from the next request': {
      steps: [
        { path: '/a' },
        { set: `settings = '{"fresh_seconds": 10, "stale_seconds": 5}'` },
        { wait: 9_999 },
        { path: '/a' },
        { wait: 1 },
        { path: '/a' },
        { wait: 5_000 },
        { path: '/a' },
      ],
      verdicts: ['rendered', 'hit', 'stale', 'rendered'],
    },
    'the order of parameters and click-tracking do not matter, values do': {
      steps: [{ path: '/a?x=1&y=2' }, { path: '/a?utm_source=z&y=2&x=1' }, { path: '/a?x=2&y=1' }],
      verdicts: ['rendered', 'hit', 'rendered'],
    },
    'a query that the domain ignores names no other page': {
      steps: [{ set: `settings = '{"query": "ignore"}'` }, { path: '/a?x=1' }, { path: '/a?x=2' }],
      verdicts: ['rendered', 'hit'],
    },
    'two encodings of one letter': {
      steps: [{ path: '/caf%C3%A9' }, { path: '/c%61f%c3%a9' }],
      verdicts: ['rendered', 'hit'],
    },
    'HEAD is answered like GET': {
      steps: [{ path: '/a', method: 'HEAD' }, { path: '/a' }, { path: '/a', method: 'HEAD' }],
      verdicts: ['rendered', 'hit', 'hit'],
    },
    'what is not ours goes to the origin, and says why': {
      steps: [
        { path: '/a', agent: PERSON },
        { path: '/a', agent: null },
        { path: '/a', method: 'POST' },
        { path: '/app.js' },
        { path: '/robots.txt' },
        { path: '//else.example/x' },
        { path: '/a%00' },
        { path: '/a', headers: { via: '1.1 prepaint' } },
        { path: '/a', headers: { via: '1.1 else' } },
      ],
      verdicts: [
        'pass; not-a-crawler',
        'pass; not-a-crawler',
        'pass; method',
        'pass; asset',
        'pass; excluded',
        'pass; path',
        'pass; path',
        'pass; loop',
        'rendered',
        // Proves decided "Inactive domain"
      ],
    },
    'an inactive domain passes, also what is stored; active again it is served': {
      steps: [
        { path: '/a' },
        { set: 'is_active = false' },
        { path: '/a' },
        { set: 'is_active = true' },
        { path: '/a' },
      ],
      verdicts: ['rendered', 'pass; inactive', 'hit'],
    },
    'rules of the domain: pass, render, a freshness of their own': {
      steps: [
        {
          set: `settings = '{"rules": [{"path": "/account/*", "action": "pass"}, {"path": "/*.json", "action": "pass"},
            {"path": "/news*", "action": "render", "fresh_seconds": 60}, {"path": "/feed.xml", "action": "render"}]}'`,
        },
        { path: '/account/orders' },
        { path: '/accounts' },
        { path: '/news/1' },
        { wait: 60_000 },
        { path: '/news/1' },
        { path: '/feed.xml' },
      ],
      verdicts: ['pass; rule', 'rendered', 'rendered', 'stale', 'rendered'],
    },
    'a failed render goes to the origin and is not remembered': {
      steps: [{ script: crash }, { path: '/a' }, { path: '/a' }],
      verdicts: ['pass; timed-out', 'rendered'],
    },
    'a page that is none, an origin that fails': {
      steps: [
        { script: { kind: 'not-html', contentType: 'application/json' } },
        { path: '/api' },
        { script: { kind: 'origin-error', status: 500 } },
        { path: '/a' },
      ],
      verdicts: ['pass; not-html', 'pass; origin-error'],
    },
    'a redirect is kept in its own cache': {
      steps: [
        { script: { kind: 'redirect', status: 301, location: '/new' } },
        { path: '/old' },
        { path: '/old' },
        { wait: DAY },
        { path: '/old' },
      ],
      verdicts: ['rendered', 'hit', 'stale'],
    },
    'a temporary redirect and a 404 are asked for again after an hour': {
      steps: [
        { script: { kind: 'redirect', status: 302, location: '/new' } },
        { path: '/old' },
        { script: { kind: 'rendered', status: 404, headers: [], html: 'gone' } },
        { path: '/gone' },
        { wait: HOUR - 1 },
        { path: '/old' },
        { path: '/gone' },
        { wait: 1 },
        { path: '/old' },
        { path: '/gone' },
      ],
      // Proves interface 1/9, interface 8/7
      verdicts: ['rendered', 'rendered', 'hit', 'hit', 'stale', 'rendered'],
    },
    'at 120 % of the month misses pass and hits are served': {
      steps: [
        { path: '/a' },
        { sql: 'update render_count set renders = 1199' },
        { path: '/b' },
        { path: '/c' },
        { path: '/a' },
        { path: '/b' },
      ],
      verdicts: ['rendered', 'rendered', 'pass; over-quota', 'hit', 'hit'],
    },
  }
  for (const [name, { steps, verdicts }] of Object.entries(cases)) {
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

it('a crawler waits until the deadline, then gets the origin; the job goes on and fills the cache', async () => {
  const impatient = await startTestEdge({ liveWaitMs: 50 })
  try {
    impatient.script('hang')
    const answer = await impatient.ask('/a')
    assert.equal(answer.verdict, 'pass; late')
    assert.match(String(answer.body), /<div id="app">/)
    // Its job may only now be on its way into the queue.
    await until('its job runs', () => impatient.work().then(() => impatient.rendered.length === 1))
    assert.equal(await impatient.verdict('/a'), 'hit')
  } finally {
    await impatient.close()
  }
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

it('a full queue passes', async () => {
  const { AppError } = await import('../../errors.ts')
  const full = await startTestEdge({
    parts: {
      enqueueLive: async () => {
        throw new AppError('queue_full')
      },
    },
  })
  try {
    assert.equal(await full.verdict('/a'), 'pass; queue-full')
  } finally {
    await full.close()
  }
})

describe('tenants', () => {
  it("one domain's page is never another's, and each gets its own", async () => {
    for (const _ of [1, 2]) {
      assert.match(String((await edge.ask('/price')).body), /red\.example\/price/)
      assert.match(String((await edge.ask('/price', { host: 'blue.example' })).body), /blue\.example\/price/)
    }
    assert.deepEqual(edge.rendered, ['red.example/price', 'blue.example/price'])
  })

  it('the Host may have any case, a port and a dot at its end', async () => {
    for (const host of ['RED.example', 'red.example:8080', 'red.example.', 'Red.Example.:443']) {
      assert.match(String((await edge.ask('/price', { host })).body), /red\.example\/price/)
    }
    assert.equal(edge.rendered.length, 1)
  })

  it('a whole URL as target names the host', async () => {
    const answer = await edge.ask('http://blue.example/price', { host: 'red.example' })
    assert.match(String(answer.body), /blue\.example\/price/)
  })

  it('an unknown host is told so in a short plain page, to people and crawlers', async () => {
    for (const host of ['nobody.example', 'x'.repeat(300), '', '[::1]', '127.0.0.1:80']) {
      const answer = await edge.ask('/a', { host })
      assert.deepEqual([answer.status, answer.verdict], [404, 'none; unknown-host'])
      assert.match(String(answer.body), /No site is registered here/)
    }
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

describe('known paths', () => {
  it('remembers what crawlers asked for, in batches, and no 404', async () => {
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
})

describe('when PostgreSQL cannot be asked', () => {
  it('crawlers get the origin; what is in memory is served on', async () => {
    let broken = false
    const node = await startTestEdge({
      queries({ name }) {
        if (broken && name === 'stored-page-read') throw new Error('no database')
      },
    })
    try {
      assert.deepEqual([await node.verdict('/a'), await node.verdict('/a')], ['rendered', 'hit'])
      broken = true
      assert.deepEqual([await node.verdict('/a'), await node.verdict('/b')], ['hit', 'pass; database'])
    } finally {
      await node.close()
    }
  })

  it('a host that is not in memory gets 503, with a time to come back', async () => {
    const node = await startTestEdge({
      queries({ name }) {
        if (name === 'domain-by-host') throw new Error('no database')
      },
    })
    try {
      const answer = await node.ask('/a')
      assert.deepEqual([answer.status, answer.verdict], [503, 'none; fault'])
      assert.equal(answer.headers['retry-after'], '30')
    } finally {
      await node.close()
    }
  })
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
    else if ('set' in step) await edge.set(step.set).then(edge.settled)
    else verdicts.push(await edge.verdict(step.path, step))
  }
  return verdicts
}
