import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CHECKS_A_MINUTE } from '@prepaint/service/sites/reachability/checks.ts'
import { assertAnswer, openApi } from '../../../../test/support/api.ts'

const api = await openApi()
const owner = await api.account()
const shop = await api.domain(owner, 'shop.example.com')
const PATH = '/api/domains/shop.example.com/integration'
const check = (body?: unknown, path = PATH) => api.call('POST', `${path}/check`, { key: owner.key, body })

it('200: the way of crawlers and its evidence, null for what was never seen', async () => {
  const none = { domain: 'shop.example.com', state: 'not_seen', refused: null, check: null }
  assert.deepEqual((await api.get(PATH, owner.key)).body, {
    ...none,
    ways: { proxy: null, middleware: null },
  })
  const at = new Date(api.clock.nowMs() - 1_000).toISOString()
  await api.pool.query(
    `insert into integration_way values ($1, 'middleware', $2, $2, 'Googlebot', '/a', 'Express', '1.0.0')`,
    [shop.id, at],
  )
  const middleware = { first_at: at, last_at: at, visits_24h: 0, crawler: 'Googlebot', path: '/a' }
  const ways = { proxy: null, middleware: { ...middleware, int_type: 'Express', int_version: '1.0.0' } }
  assert.deepEqual((await api.get(PATH, owner.key)).body, { ...none, state: 'middleware', ways })
})

it('200: the list has all domains of the account by name, with the way of the newest crawler of 7 days', async () => {
  const account = await api.account()
  const nowMs = api.clock.nowMs()
  const ago = (ms: number) => new Date(nowMs - ms).toISOString()
  const WEEK_MS = 7 * 86_400_000
  const seen = async (name: string, ...ways: [way: string, last: string][]) => {
    const { id } = await api.domain(account, name)
    for (const [way, last] of ways) {
      await api.pool.query(`insert into integration_way values ($1, $2, $3, $3, 'Googlebot', '/')`, [
        id,
        way,
        last,
      ])
    }
  }
  await seen('d.example.com')
  await seen('c.example.com', ['middleware', ago(WEEK_MS)])
  await seen('b.example.com', ['proxy', ago(WEEK_MS - 1)])
  await seen('a.example.com', ['proxy', ago(2)], ['middleware', ago(1)])
  const settings = { way: 'middleware' }
  await api.call('PUT', '/api/domains/a.example.com', { key: account.key, body: { settings } })
  assert.deepEqual((await api.get('/api/integrations', account.key)).body['integrations'], [
    { domain: 'a.example.com', way: 'middleware', state: 'middleware', last_at: ago(1) },
    { domain: 'b.example.com', way: 'dns', state: 'proxy', last_at: ago(WEEK_MS - 1) },
    { domain: 'c.example.com', way: 'dns', state: 'not_seen', last_at: ago(WEEK_MS) },
    { domain: 'd.example.com', way: 'dns', state: 'not_seen', last_at: null },
  ])
  const stranger = await api.account()
  assert.deepEqual((await api.get('/api/integrations', stranger.key)).body, { integrations: [] })
})

it('200: a check of the path that is named, else of /', async () => {
  const checked = async (body?: unknown) =>
    (await check(body)).body['check'] as { url: string; via: string | null }
  assert.deepEqual([(await checked()).url, (await checked({})).via], ['https://shop.example.com/', null])
  const { url, via } = await checked({ path: '/a?b', via: 'http://93.184.216.34:8080' })
  assert.deepEqual([url, via], ['https://shop.example.com/a?b', 'http://93.184.216.34:8080'])
})

it('400: what is wrong with path or via is named', async () => {
  assertAnswer(await check({ path: 'a' }), 400, /^path /)
  assertAnswer(await check({ path: 1 }), 400, /^path /)
  assertAnswer(await check({ via: 1 }), 400, /^via /)
  assertAnswer(await check({ via: 'http://internal.attacker.com' }), 400, /^Invalid via URL: /)
  assertAnswer(await check({ via: 'ftp://93.184.216.34' }), 400, /^Invalid via URL: /)
})

it("404: another account's domain; 429: more than 60 checks in a minute", async () => {
  const other = await api.account()
  const request = { key: other.key, body: {} }
  assertAnswer(await api.get(PATH, other.key), 404, 'Domain not found')
  assertAnswer(await api.call('POST', `${PATH}/check`, request), 404, 'Domain not found')
  await api.pool.query('delete from rate')
  for (let at = 0; at < CHECKS_A_MINUTE; at++) assert.equal((await check({})).status, 200)
  const refused = await check({})
  assertAnswer(refused, 429, 'Too many checks, try again in a minute')
  assert(Number(refused.headers.get('retry-after')) > 0)
})
