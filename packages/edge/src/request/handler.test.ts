import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { Rule } from '@prepaint/contract/rules/schema.ts'
import type { WaitedFor } from '@prepaint/pages/queue/jobs/await.ts'
import { until } from '../../../../test/support/condition.ts'
import {
  type AskOptions,
  FACEBOOK,
  GPTBOT,
  openEdge,
  PERSON,
  path,
  type Scripted,
} from '../../../../test/support/edge.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const edge = await openEdge({
  render: async ({ rule, page }) => ({
    ...{ kind: 'rendered', status: 200, headers: [] },
    html: `<h1>${page.path} by rule ${rule?.index ?? 'none'}</h1>`,
  }),
})
beforeEach(() => edge.reset())

type Step =
  | ({ path: string } & AskOptions)
  | { wait: number }
  | { script: Scripted }
  | { set: object }
  | { active: boolean }
  | { used: number }

const a = { path: '/a' }
const crash: Scripted = { kind: 'timed-out', afterMs: 1 }

describe('a sequence of requests', () => {
  /** Verdicts as a list with commas. */
  const sequence = (name: string, verdicts: string, ...steps: Step[]) =>
    it(name, async () => assert.equal((await play(steps)).join(', '), verdicts))
  const set = (settings: object) => ({ set: settings })
  const at = (path: string, asking: AskOptions = {}) => ({ path, ...asking })

  // Proves interface 1/1, interface 1/2, interface 1/3
  sequence(
    'rendered once; fresh for a day, stale for seven more, kept for failures until thirty',
    'rendered, hit, stale, stale, stale, pass; timed-out',
    ...[a, { wait: DAY - 1 }, a, { wait: 1 }, a, { wait: 7 * DAY - 1 }, a],
    ...[{ wait: 1 }, { script: crash }, a, { wait: 22 * DAY }, { script: crash }, a],
  )
  sequence(
    'the order of parameters, click-tracking and the encoding of letters do not matter, values do, unless the domain ignores them',
    'rendered, hit, rendered, rendered, hit, rendered, hit',
    ...[at('/a?x=1&y=2'), at('/a?utm_source=z&y=2&x=1'), at('/a?x=2&y=1'), at('/caf%C3%A9')],
    ...[at('/c%61f%c3%a9'), set({ query: 'ignore' }), at('/b?x=1'), at('/b?x=2')],
  )
  const head = { ...a, method: 'HEAD' }
  sequence('HEAD is answered like GET', 'rendered, hit, hit', head, a, head)
  sequence(
    'what is not ours goes to the origin, and says why',
    'pass; method, pass; asset, pass; excluded, pass; path, pass; path, pass; loop, rendered',
    ...[{ ...a, method: 'POST' }, at('/app.js'), at('/robots.txt'), at('//else.example/x'), at('/a%00')],
    ...[at('/a', { headers: { via: '1.1 prepaint' } }), at('/a', { headers: { via: '1.1 xprepaint' } })],
  )
  // Proves decided "Inactive domain"
  sequence(
    'an inactive domain passes, also what is stored; active again it is served',
    'rendered, pass; inactive, hit',
    ...[a, { active: false }, a, { active: true }, a],
  )
  const gptbot = at('/a', { agent: GPTBOT })
  // Proves decided "Crawler detection"
  sequence(
    'a crawler that the domain adds gets pages, here and nowhere else; one that it removes gets what people get',
    'rendered, hit, pass; not-a-crawler, pass; not-a-crawler',
    ...[a, set({ crawlers: { add: [{ pattern: 'myshop', category: 'other' }], remove: ['GPTBot'] } })],
    ...[at('/a', { agent: 'MyShop/1.0' }), at('/a', { agent: 'MyShop/1.0', host: 'blue.example' }), gptbot],
  )
  // Proves decided "Further verdicts"
  sequence(
    'a category that passes gets the origin, and the others pages',
    'rendered, pass; category, hit',
    ...[a, set({ categories: { ai: 'pass' } }), gptbot, at('/a', { agent: 'Twitterbot/1.0' })],
  )
  const withPassword = at('/a', { headers: { authorization: 'Basic cmVkOnJlZA==' } })
  // Proves decided "Further verdicts"
  sequence(
    'a crawler that shows a password gets the origin',
    'pass; authorization, rendered, pass; authorization, hit',
    ...[withPassword, a, withPassword, a],
  )
  const account = { path: '/account/*', action: 'pass' }
  const news = { path: '/news*', action: 'render', fresh_seconds: 60, stale_seconds: 5 }
  sequence(
    'rules of the domain: pass, render, a freshness of their own; that of the domain for the rest',
    'pass; rule, rendered, rendered, stale, hit, stale, rendered, rendered',
    set({ rules: [account, news, { path: '/feed.xml', action: 'render' }], fresh_seconds: 100 }),
    ...[at('/account/orders'), at('/accounts'), at('/news/1'), { wait: 60_000 }, at('/news/1')],
    ...[at('/accounts'), { wait: 40_000 }, at('/accounts'), at('/news/1'), at('/feed.xml')],
  )
  const redirect: Step = { script: { kind: 'redirect', status: 302, location: '/new' } }
  const gone: Step = { script: { kind: 'rendered', status: 404, headers: [], html: 'gone' } }
  // Proves interface 1/9, interface 8/7
  sequence(
    'a temporary redirect and a 404 are asked for again after an hour',
    'rendered, rendered, hit, hit, stale, rendered',
    ...[redirect, at('/old'), gone, a, { wait: HOUR - 1 }, at('/old'), a, { wait: 1 }, at('/old'), a],
  )
  // Proves interface 1/9, interface 8/7
  sequence(
    'at 120 % of the month misses pass, and what is only kept for failures; hits are served',
    'rendered, rendered, pass; over-quota, hit, hit, pass; over-quota',
    ...[a, { used: 1_199 }, at('/b'), at('/c'), a, at('/b')],
    ...[set({ fresh_seconds: 10, stale_seconds: 5 }), { wait: 15_000 }, a],
  )
})

it('a stale page that is asked for often queues one refresh, and is fresh again once that has run; unchanged, it is as old as before', async () => {
  const { headers } = await edge.ask('/a')
  edge.wait(2 * DAY)
  for (let times = 0; times < 5; times++) assert.equal(await edge.verdict('/a'), 'stale')
  await until('a refresh is queued', () => edge.refreshed.length > 0)
  edge.wait(10_000)
  await edge.ask('/a')
  await until('the next one is queued', () => edge.refreshed.length > 1)
  assert.deepEqual(edge.refreshed, ['/a', '/a'])
  await until('it is refreshed', () => edge.work().then(() => edge.rendered.length === 2))
  await until('it is fresh', async () => (await edge.verdict('/a')) === 'hit')
  assert.equal((await edge.ask('/a')).headers['last-modified'], headers['last-modified'])
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

it('without PostgreSQL crawlers get the origin or what is in memory, and an unknown host 503 with Retry-After', async (t) => {
  let failing = ''
  const queries = ({ name }: { name: string }) => {
    if (name === failing) throw new Error('no database')
  }
  const node = await openEdge({ queries }, t)
  assert.deepEqual([await node.verdict('/a'), await node.verdict('/a')], ['rendered', 'hit'])
  failing = 'stored-page-read'
  assert.deepEqual([await node.verdict('/a'), await node.verdict('/b')], ['hit', 'pass; database'])
  failing = 'domain-by-host'
  const { status, verdict, headers } = await node.ask('/a', { host: 'blue.example' })
  assert.deepEqual([status, verdict, headers['retry-after']], [503, 'none; database', '10'])
})

describe('a crawler whose page is rendered at its own node', () => {
  const HTML = '<h1>red.example/a</h1><p>render 1</p>'

  it('is answered with what was stored there, without a word from PostgreSQL; not when a purge comes before the answer', async (t) => {
    const reads: unknown[] = []
    let beforeEnd = async () => {}
    let ends = Promise.withResolvers<WaitedFor>()
    const node = await openEdge(
      {
        ended: (_id, end, page) => void beforeEnd().then(() => ends.resolve({ ...end, page }), ends.reject),
        parts: { waiter: { wait: () => ends.promise } },
        queries: ({ name, values }) => void (name === 'stored-page-read' && reads.push(values[1])),
      },
      t,
    )
    const first = await node.ask('/a')
    const second = await node.ask('/a')
    assert.deepEqual([first.verdict, second.verdict, String(first.body)], ['rendered', 'hit', HTML])
    assert.deepEqual(reads, ['/a'], 'when it was a miss')
    assert.deepEqual(second.body, first.body)
    for (const name of ['etag', 'last-modified']) assert.equal(second.headers[name], first.headers[name])

    ends = Promise.withResolvers()
    beforeEnd = () => node.purge({ kind: 'path', path: path('/b') }).then(node.settled)
    assert.equal(await node.verdict('/b'), 'pass; rendered')
    assert.deepEqual(reads, ['/a', '/b', '/b'])
  })

  it('hears of its end from PostgreSQL where the node is not told: rendered elsewhere, or by one that died at the commit', async (t) => {
    const untold = await openEdge({ ended: () => {} }, t)
    const { verdict, body } = await untold.ask('/a')
    assert.deepEqual([verdict, String(body)], ['rendered', HTML])
  })
})

describe('rules, as crawlers meet them', () => {
  const rules = (...list: Rule[]) => edge.settings({ rules: list })

  /** `200 hit: by rule 0` */
  async function found(path: string, agent?: string): Promise<string> {
    const { status, verdict, body } = await edge.ask(path, agent === undefined ? {} : { agent })
    return `${status} ${verdict}: ${/by rule \w+|Page (?:not found|gone)/.exec(String(body))?.[0]}`
  }

  for (const [action, status, short] of [
    ['not-found', 404, 'Page not found'],
    ['gone', 410, 'Page gone'],
  ] as const) {
    it(`${action}: crawlers get ${status} with the stored page, or a short one, and people the origin`, async () => {
      await edge.ask('/old')
      await rules({ path: '/*', action })
      assert.equal(await found('/old'), `${status} rule: by rule none`)
      for (const path of ['/other', '/photo.jpg']) assert.equal(await found(path), `${status} rule: ${short}`)
      assert.equal(await edge.verdict('/robots.txt'), 'pass; excluded')
      assert.equal(await found('/old', PERSON), '200 pass; not-a-crawler: undefined')
      assert.deepEqual(edge.rendered, ['red.example/old'])
    })
  }

  it('no-store: rendered for each crawler, even where a page is stored, and not kept', async () => {
    await edge.ask('/live')
    await rules({ path: '/live', action: 'no-store' })
    for (const _turn of [1, 2]) assert.equal(await found('/live'), '200 rendered: by rule 0')
    assert.equal(await edge.verdict('/live.png'), 'pass; asset')
    assert.equal((await edge.pool.query('select from page')).rowCount, 0)
    await rules()
    assert.equal(await edge.verdict('/live'), 'rendered')
  })

  it('a rule for some crawlers: each kind gets the page that its own rule makes', async () => {
    await rules(
      { path: '/*', when: { categories: ['social'] }, change: { consent: true } },
      { path: '/b', action: 'pass', when: { categories: ['search'] } },
    )
    assert.equal(await found('/a'), '200 rendered: by rule none')
    assert.equal(await found('/a'), '200 hit: by rule none')
    assert.equal(await found('/a', FACEBOOK), '200 rendered: by rule 0')
    assert.equal(await found('/a', FACEBOOK), '200 hit: by rule 0')
    assert.equal(await found('/a'), '200 rendered: by rule none')
    assert.equal(await edge.verdict('/b'), 'pass; rule')
    assert.equal(await edge.verdict('/b', { agent: FACEBOOK }), 'rendered')
  })

  it('two kinds of crawlers that ask at once: neither gets the other page', async () => {
    await rules({ path: '/*', when: { categories: ['social'] }, change: { consent: true } })
    const [google, facebook] = await Promise.all([found('/both'), found('/both', FACEBOOK)])
    // One of them may be passed as `busy`.
    assert.match(google + facebook, /by rule/)
    assert.doesNotMatch(google, /by rule 0/)
    assert.doesNotMatch(facebook, /by rule none/)
  })

  it('pages of other rules are served until they are stale', async () => {
    await edge.ask('/a')
    await rules({ path: '/a', change: { consent: true } })
    assert.equal(await found('/a'), '200 hit: by rule none')
  })
})

it('a client that says whatever it likes changes nothing for the next', async () => {
  const EVIL = 'evil.example'
  /** The fast lane is tried with these. */
  const simple = {
    ...{ 'x-forwarded-host': EVIL, 'x-forwarded-port': '1', 'x-forwarded-prefix': '/evil' },
    ...{ 'x-forwarded-proto': 'http', 'x-forwarded-ssl': 'off', 'x-evil': '1' },
    forwarded: 'host=evil.example;proto=http;for=127.0.0.1',
    ...{ 'x-original-host': EVIL, 'x-original-url': '/evil', 'x-http-method-override': 'DELETE' },
    ...{ accept: 'application/json', 'accept-language': 'xx', cookie: 'session=evil; lang=xx' },
    ...{ range: 'bytes=0-3', 'if-range': '"x"', 'if-match': '"x"' },
    'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT',
    ...{ 'cache-control': 'no-store, no-cache, only-if-cached', pragma: 'no-cache' },
    ...{ origin: 'https://evil.example', referer: 'https://evil.example/' },
    ...{ 'x-prepaint': 'hit', 'x-prepaint-gateway': 'unreachable', 'x-prerender-token': 'x' },
    ...{ 'save-data': 'on', 'sec-ch-ua-mobile': '?1', dpr: '3' },
  }
  const headers = { ...simple, te: 'trailers', connection: 'upgrade, x-evil', upgrade: 'h2c' }
  const agent = 'bingbot/2.0 <script>alert(1)</script>'
  for (const [verdict, asking] of [
    ['rendered', { headers, agent }],
    ['hit', {}],
    ['hit', { headers, agent }],
    ['hit', { headers: simple, agent }],
  ] as const) {
    const got = await edge.ask('/page', asking)
    assert.deepEqual([got.verdict, got.status], [verdict, 200])
    assert.equal(String(got.body), '<h1>/page by rule none</h1>')
    assert.doesNotMatch(got.rawHeaders.join('\n'), /evil/i)
  }
  assert.deepEqual(edge.rendered, ['red.example/page'])
})

// Test support

async function play(steps: Step[]): Promise<(string | undefined)[]> {
  const verdicts: (string | undefined)[] = []
  for (const step of steps) {
    if ('wait' in step) edge.wait(step.wait)
    else if ('script' in step) edge.script(step.script)
    else if ('used' in step) await edge.count(step.used)
    else if ('set' in step) await edge.settings(step.set)
    else if ('active' in step) await edge.set(`is_active = ${step.active}`)
    else verdicts.push(await edge.verdict(step.path, step))
  }
  return verdicts
}
