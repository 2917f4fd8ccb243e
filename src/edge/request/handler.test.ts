import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { type AskOptions, GPTBOT, openEdge, PERSON, type Scripted } from '../../../test/support/edge.ts'

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
    'the order of parameters, click-tracking and the encoding of letters do not matter, values do',
    'rendered, hit, rendered, rendered, hit',
    ...[
      at('/a?x=1&y=2'),
      at('/a?utm_source=z&y=2&x=1'),
      at('/a?x=2&y=1'),
      at('/caf%C3%A9'),
      at('/c%61f%c3%a9'),
    ],
  )
  sequence(
    'a query that the domain ignores names no other page',
    'rendered, hit',
    ...[set({ query: 'ignore' }), at('/a?x=1'), at('/a?x=2')],
  )
  const head = { ...a, method: 'HEAD' }
  sequence('HEAD is answered like GET', 'rendered, hit, hit', head, a, head)
  sequence(
    'what is not ours goes to the origin, and says why',
    'pass; method, pass; asset, pass; excluded, pass; path, pass; path, pass; loop, rendered',
    ...[{ ...a, method: 'POST' }, at('/app.js'), at('/robots.txt'), at('//else.example/x'), at('/a%00')],
    ...[at('/a', { headers: { via: '1.1 prepaint' } }), at('/a', { headers: { via: '1.1 else' } })],
  )
  // Proves decided "Inactive domain"
  sequence(
    'an inactive domain passes, also what is stored; active again it is served',
    'rendered, pass; inactive, hit',
    ...[a, { active: false }, a, { active: true }, a],
  )
  // Proves decided "Crawler detection"
  sequence(
    'a crawler that the domain adds gets pages, here and nowhere else',
    'rendered, hit, pass; not-a-crawler',
    ...[
      a,
      set({ crawlers: { add: [{ pattern: 'myshop', category: 'other' }] } }),
      at('/a', { agent: 'MyShop/1.0' }),
    ],
    at('/a', { agent: 'MyShop/1.0', host: 'blue.example' }),
  )
  const gptbot = at('/a', { agent: GPTBOT })
  sequence(
    'a crawler that the domain removes gets what people get',
    'rendered, pass; not-a-crawler, hit',
    ...[a, set({ crawlers: { remove: ['GPTBot'] } }), gptbot, a],
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
    ...[a, { sql: 'update render_count set renders = 1199' }, at('/b'), at('/c'), a, at('/b')],
    ...[set({ fresh_seconds: 10, stale_seconds: 5 }), { wait: 15_000 }, a],
  )
})

it('a stale page that is asked for often queues one refresh, and is fresh again once that has run', async () => {
  await edge.ask('/a')
  edge.wait(2 * DAY)
  for (let times = 0; times < 5; times++) assert.equal(await edge.verdict('/a'), 'stale')
  assert.deepEqual(edge.refreshed, ['/a'])
  edge.wait(10_000)
  await edge.ask('/a')
  assert.deepEqual(edge.refreshed, ['/a', '/a'])
  await until('it is refreshed', () => edge.work().then(() => edge.rendered.length === 2))
  await until('it is fresh', async () => (await edge.verdict('/a')) === 'hit')
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

it('a host is known from the moment of its registration, and unknown from its deletion', async () => {
  const is = (status: number) => async () => (await edge.ask('/a', { host: 'new.example' })).status === status
  assert(await is(404)())
  await edge.addDomain('new.example')
  await until('it is known', is(200))
  await edge.pool.query(`delete from domain where custom_domain = 'new.example'`)
  await edge.pool.query(`select pg_notify('invalidate', '{"host": "new.example"}')`)
  await until('it is unknown', is(404))
})

it('known paths: remembers what crawlers asked for, in batches, and no 404', async () => {
  edge.script({ kind: 'rendered', status: 404, headers: [], html: 'gone' })
  for (const path of ['/known-404', '/known-a', '/known-a?utm_source=x']) await edge.ask(path)
  await edge.ask('/known-b', { agent: PERSON })
  edge.script({ kind: 'blank' })
  await edge.ask('/known-c')
  await edge.asked.flush()
  const { rows } = await edge.pool.query<{ paths: string[] }>(
    `select array_agg(path order by path) as paths from known_path
      where domain_id = $1 and source = 'crawler' and path like '%known%'`,
    [edge.red],
  )
  assert.deepEqual(rows, [{ paths: ['/known-a', '/known-c'] }])
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
  assert.deepEqual([status, verdict, headers['retry-after']], [503, 'none; fault', '30'])
})

// Test support

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
