import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type http from 'node:http'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { after, it } from 'node:test'
import { deliverySchema } from '@prepaint/contract/api/notifications.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createAddressGuard } from '@prepaint/outbound'
import { parseAllowedRange } from '@prepaint/outbound/address-range'
import { createClient } from '@prepaint/outbound/client'
import { createListener } from '@prepaint/postgres/listener.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { Webhook } from 'standardwebhooks'
import { assertAnswer, startTestApi, type TestAccount, valuesOf } from '../../../../../test/support/api.ts'
import { until } from '../../../../../test/support/condition.ts'
import { listening, serve } from '../../../../../test/support/loopback.ts'
import { startSending } from '../../../../../test/support/sending.ts'
import { nextPause } from './claim.ts'
import { type Delivery, testEndpoint } from './deliveries.ts'
import { createEndpoint, type Endpoint, listEndpoints } from './endpoints.ts'
import { attemptDelivery, Sender } from './sender.ts'

const guard = createAddressGuard([parseAllowedRange('127.0.0.1/32')!])
const api = await startTestApi()
const { pool } = api
const listener = await createListener(api.database.connection, silentLog())
const options = { plans: DEFAULT_PLANS, version: '1.2.3', speed: 100_000, publicUrl: '' }
const newSender = () => new Sender(pool, guard, api.parts.vault, null, systemClock, silentLog(), options)
// Two nodes: each event is still sent once.
const senders = [1, 2].map(() => startSending(pool, listener, newSender()))
const closing: (() => void)[] = []
after(async () => {
  for (const close of closing) close()
  await Promise.all(senders.map((sender) => sender.close()))
  await listener.close()
  await api.close()
})

type Received = { headers: http.IncomingHttpHeaders; body: string }

async function receiver(answer: (res: http.ServerResponse, n: number) => void = (res) => res.end('thanks')) {
  const received: Received[] = []
  const { url, close } = await serve(async (req, res) => {
    const body = await text(req)
    answer(res, received.push({ headers: req.headers, body }))
  })
  closing.push(close)
  return { received, url: `${url}/hook` }
}

const endpointOf = ({ id }: TestAccount, url: string, format: Endpoint['format'] = 'standard') =>
  createEndpoint(pool, api.parts.vault, id, { url, format })
/** An account with an endpoint at a receiver that answers so. */
async function endpointThat(answer?: Parameters<typeof receiver>[0], format?: Endpoint['format']) {
  const account = await api.account()
  const { received, url } = await receiver(answer)
  return { account, received, endpoint: await endpointOf(account, url, format) }
}
const tryOut = ({ key }: TestAccount, { id }: { id: number }) => api.post(`/api/endpoints/${id}/test`, key)
const activate = ({ key }: TestAccount, { id }: { id: number }, is_active: boolean) =>
  api.call('PUT', `/api/endpoints/${id}`, { key, body: { is_active } })

let keys = 0
const record = ({ id }: TestAccount, domain = 'a.example.com') =>
  pool.query(`select record_event($1, null, null, 'domain.live', $2, $3)`, [id, `test ${++keys}`, { domain }])

async function deliveries({ key }: TestAccount, { id }: { id: number }, query = '') {
  const { status, body } = await api.get(`/api/endpoints/${id}/deliveries${query}`, key)
  assert.equal(status, 200)
  return body['deliveries'] as Delivery[]
}

/** The newest delivery, once it has ended. */
const ended = (account: TestAccount, endpoint: { id: number }, of = '') =>
  until(`the delivery has ended ${of}`, async () => {
    const [last] = await deliveries(account, endpoint)
    return last === undefined || last.state === 'waiting' ? null : last
  })

it('an event arrives once, signed as Standard Webhooks, byte for byte as it is stored', async () => {
  const { account, endpoint, received } = await endpointThat()
  await record(account)
  const { id, event_id, state, status, answer, attempts } = await ended(account, endpoint)
  assert.deepEqual([state, status, answer, attempts], ['delivered', 200, 'thanks', 1])
  const [{ headers, body }] = received as [Received]
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const
  const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]))
  const { timestamp, ...event } = new Webhook(endpoint.secret).verify(body, signed) as { timestamp: string }
  assert.deepEqual(event, { type: 'domain.live', data: { domain: 'a.example.com' } })
  assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual([headers['webhook-id'], headers['user-agent']], [event_id, 'Prepaint/1.2.3'])

  const replayed = await api.post(`/api/deliveries/${id}/replay`, account.key)
  assert.deepEqual(valuesOf([replayed.body['delivery']], 'replay_of'), [id])
  await until('the replay has arrived', () => received.length === 2)
  assert.deepEqual([received[1]!.body, received[1]!.headers['webhook-id']], [body, event_id])
})

it('a slack endpoint gets a text, escaped and signed', async () => {
  const { account, endpoint, received } = await endpointThat(undefined, 'slack')
  await record(account, '<a&b>')
  await ended(account, endpoint)
  assert.deepEqual(JSON.parse(received[0]!.body), { text: '&lt;a&amp;b&gt; is live.' })
  assert(received[0]!.headers['webhook-signature']?.toString().startsWith('v1,'))
})

it('retries until it is taken; a redirect is a failure and is not followed', async () => {
  const { account, endpoint, received } = await endpointThat((res, count) => {
    if (count === 1) return void res.writeHead(500).end('broken')
    if (count === 2) return void res.writeHead(302, { Location: '/elsewhere' }).end()
    res.writeHead(204).end()
  })
  await record(account)
  const { state, attempts, status } = await ended(account, endpoint)
  assert.deepEqual([state, attempts, status, received.length], ['delivered', 3, 204, 3])
  assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1)
})

it('events of one incident arrive in their order, although the first is taken late', async () => {
  const { account, received } = await endpointThat((res, n) => res.writeHead(n < 3 ? 503 : 204).end())
  const { id } = await api.domain(account, 'ordered.example.com')
  const [incident] = await api.database.column(
    `insert into incident (account_id, domain_id, kind, since, summary, evidence)
     values ($1, $2, 'blocked', now(), '', '{"advice": "", "pages": [], "changes": []}') returning id`,
    account.id,
    id,
  )
  const told = `select record_incident($1, 'incident.opened', 'ordered'), resolve_incident($1, 'recovered')`
  await pool.query(told, [incident])
  await until('both have arrived', () => received.length === 4)
  const types = received.map(({ body }) => JSON.parse(body).type)
  assert.deepEqual(types, [...Array(3).fill('incident.opened'), 'incident.resolved'])
})

it('what goes wrong is said', async () => {
  const silent = net.createServer((socket) => void socket.on('error', () => {}).end('not http\r\n\r\n'))
  const noHttp = await listening(silent)
  closing.push(() => silent.close())
  const redirecting = await receiver((res) => res.writeHead(301, { Location: 'http://10.0.0.1/' }).end())
  const big = await receiver((res) => {
    res.writeHead(500)
    const pour = () => {
      while (res.write(Buffer.alloc(65_536, 'x\0')));
      res.once('drain', pour)
    }
    pour()
  })
  for (const [url, error, status] of [
    ['http://127.0.0.1:1/', 'unreachable', null],
    [`http://127.0.0.1:${noHttp}/`, 'unreachable', null],
    [`https://127.0.0.1:${noHttp}/`, 'tls', null],
    ['http://127.0.0.2:8080/', 'refused-address', null],
    ['https://no-such-name.invalid/', 'unresolvable', null],
    [redirecting.url, 'redirect', 301],
    [big.url, null, 500],
  ] as const) {
    const account = await api.account()
    const endpoint = await endpointOf(account, url)
    assert.equal((await tryOut(account, endpoint)).status, 202)
    const { type, answer, ...found } = await ended(account, endpoint, url)
    assert.equal(type, 'endpoint.test')
    assert.partialDeepStrictEqual(found, { state: 'failed', attempts: 1, error, status }, url)
    if (url === big.url) assert.match(answer!, /^(x ){500}$/)
    assert.deepEqual(valuesOf(await listEndpoints(pool, account.id), 'failing_since'), [null])
  }
})

it('slow heads and bodies, and what Retry-After says', async () => {
  const client = createClient(guard, {})
  closing.push(() => client.close())
  const clock = { nowMs: () => Date.parse('2026-11-22T20:00:00Z') }
  const attempt = async (answer: (res: http.ServerResponse) => void) => {
    const { url: address } = await receiver(answer)
    const event = { event_id: 'evt_1', body: '{}', seconds: 1 }
    const row = { ...event, channel_id: 1, format: 'standard', address } as const
    const { signal } = new AbortController()
    const times = { clock, signal, headMs: 1_000, bodyMs: 200 }
    return attemptDelivery(client, row, { secret: Buffer.alloc(32), userAgent: 'x', ...times })
  }
  const drips = await attempt((res) => {
    res.socket!.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => res.socket?.write('X-Slow: yes\r\n'), 20)
    res.socket!.once('close', () => clearInterval(timer))
  })
  assert.deepEqual([drips.status, drips.error], [null, 'timed-out'])
  const slowBody = await attempt((res) => void res.writeHead(201).write('and then'))
  assert.deepEqual([slowBody.status, slowBody.error, slowBody.answer], [201, null, 'and then'])
  const broken = await attempt((res) => {
    res.writeHead(500, { 'Content-Length': 100 }).write('it broke')
    setTimeout(() => res.destroy(), 50)
  })
  assert.deepEqual([broken.status, broken.error, broken.answer], [500, null, 'it broke'])
  for (const [said, ms] of [
    ['90', 90_000],
    ['Sun, 22 Nov 2026 21:00:00 GMT', 3_600_000],
    ['14401', 14_400_000],
    ['soon', 0],
  ] as const) {
    const { status, retryAfterMs } = await attempt((res) => res.writeHead(503, { 'Retry-After': said }).end())
    assert.deepEqual([status, retryAfterMs], [503, ms], said)
  }
})

it('the programs in the document verify deliveries, and refuse what was changed or is old', async (t) => {
  const document = readFileSync(new URL('../../../../../docs/notifications.md', import.meta.url), 'utf8')
  const programOf = (language: string) => new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(document)![1]!
  const { account, endpoint, received } = await endpointThat()
  await record(account, 'bücher.example')
  await ended(account, endpoint)
  const [{ headers, body }] = received as [Received]
  const old = { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 301) }
  const cases = [
    { headers, body, isGenuine: true },
    { headers, body: `${body} `, isGenuine: false },
    { headers: old, body, isGenuine: false },
    { headers: { ...headers, 'webhook-signature': 'v1,' }, body, isGenuine: false },
  ]
  const { isGenuine } = (await import(
    `data:text/javascript;base64,${Buffer.from(programOf('js')).toString('base64')}`
  )) as { isGenuine(secret: string, headers: object, body: string): boolean }
  for (const each of cases) assert.equal(isGenuine(endpoint.secret, each.headers, each.body), each.isGenuine)
  const check = `${programOf('python')}
import json, sys
for case in json.load(sys.stdin):
    print(is_genuine(${JSON.stringify(endpoint.secret)}, case["headers"], case["body"].encode()) == case["isGenuine"])`
  const python = spawnSync('python3', ['-c', check], { input: JSON.stringify(cases), encoding: 'utf8' })
  if (python.error !== undefined) return t.skip('python3 is not here: the Python program was not run')
  assert.equal(python.stdout, 'True\n'.repeat(cases.length), python.stderr)
})

it('status 410 switches the endpoint off; a test still works', async () => {
  const { account, endpoint } = await endpointThat((res) => res.writeHead(410).end())
  await record(account)
  assert.equal((await ended(account, endpoint)).state, 'failed')
  const [off] = await listEndpoints(pool, account.id)
  assert.deepEqual([off!.is_active, typeof off!.switched_off_at], [false, 'string'])
  await record(account)
  assert.equal((await deliveries(account, endpoint)).length, 1)
  const byOperator = await testEndpoint(pool, null, endpoint.id)
  assert.deepEqual(Object.keys(byOperator), Object.keys(deliverySchema.shape))
  const tested = await ended(account, endpoint)
  assert.deepEqual([tested.type, tested.status], ['endpoint.test', 410])
  const { body } = await activate(account, endpoint, true)
  assert.deepEqual(valuesOf([body['endpoint']], 'is_active'), [true])
})

it('an endpoint that fails is switched off after three days and ten failures, and the owner hears of it', async () => {
  const { account, endpoint, received } = await endpointThat((res) => res.writeHead(500).end())
  await pool.query(
    `update channel set failing_since = now() - interval '71 hours', failures = 8 where id = $1`,
    [endpoint.id],
  )
  await record(account)
  await record(account)
  await until('it is off', async () => (await listEndpoints(pool, account.id))[0]!.is_active === false)
  // One failure is the ninth: not yet ten.
  assert(received.length >= 2)
  const mails = await api.database.column(
    `select body::json -> 'data' ->> 'url' as url from event where account_id = $1 and type = 'mail.switched_off'`,
    account.id,
  )
  assert.deepEqual(mails, [endpoint.url])
})

it('a receiver that hangs delays nothing else; what waits is not replayed, and is cancelled', async () => {
  const [one, two] = [await api.account(), await api.account()]
  const hanging = await receiver(() => {})
  const good = await receiver()
  const stuck = await endpointOf(one, hanging.url)
  const [near, far] = [await endpointOf(one, good.url), await endpointOf(two, good.url)]
  for (let n = 0; n < 40; n++) await record(one)
  await record(two)
  await until('the others have got theirs', () => good.received.length === 41)
  assert.equal((await ended(two, far)).state, 'delivered')
  const sql = 'select distinct lease from delivery where channel_id = $1 and lease is not null'
  assert((await pool.query(sql, [stuck.id])).rowCount! <= 3)
  const all = (endpoint: { id: number }, state: string) =>
    until(`all are ${state}`, async () =>
      (await deliveries(one, endpoint)).every((each) => each.state === state),
    )
  await all(near, 'delivered')
  const [waiting] = await deliveries(one, stuck)
  const replayed = await api.post(`/api/deliveries/${waiting!.id}/replay`, one.key)
  assertAnswer(replayed, 409, 'Delivery is still waiting')
  await activate(one, stuck, false)
  await all(stuck, 'cancelled')
})

it('an account without the plan gets nothing, and an account keeps 10,000 waiting deliveries', async () => {
  const { account, endpoint, received } = await endpointThat()
  await pool.query(`update account set plan = 'agency' where id = $1`, [account.id])
  await record(account)
  assert.equal((await ended(account, endpoint)).state, 'cancelled')
  const refused = await api.post('/api/endpoints', account.key, 'no json')
  assertAnswer(refused, 403, 'Event endpoints require Agency+ plan')
  await pool.query(
    `insert into delivery (event_id, account_id, channel_id, due_at)
     select (select id from event where account_id = $1 limit 1), $1, $2, now() + interval '1 hour' from generate_series(1, 10000)`,
    [account.id, endpoint.id],
  )
  await record(account)
  const found = await api.database.column(
    `select state || ' ' || count(*) from delivery
      where account_id = $1 and due_at > now() + interval '50 minutes' group by state order by state`,
    account.id,
  )
  assert.deepEqual(found, ['cancelled 1', 'waiting 9999'])
  assert.equal(received.length, 0)
})

it('lists of deliveries are read page by page, of one endpoint; what is unknown is not found', async () => {
  const account = await api.account()
  const { id } = await endpointOf(account, 'https://a.example.com')
  const other = await endpointOf(account, 'https://b.example.com')
  for (let n = 0; n < 3; n++) await record(account)
  const sql = 'select id::float8 from delivery where channel_id = $1 order by id desc'
  const all = await api.database.column<number>(sql, id)
  for (const [query, ids, next] of [
    ['', all, null],
    ['?limit=2', all.slice(0, 2), all[1]],
    [`?limit=2&after=${all[1]}`, all.slice(2), null],
  ]) {
    const { body } = await api.get(`/api/endpoints/${id}/deliveries${query}`, account.key)
    assert.deepEqual([valuesOf(body['deliveries'], 'id'), body['next']], [ids, next])
  }
  assert.equal((await deliveries(account, other)).length, 3)

  const unknown = await api.get('/api/endpoints/987654/deliveries', account.key)
  assertAnswer(unknown, 404, 'Endpoint not found')
  const replayed = await api.post('/api/deliveries/987654/replay', account.key)
  assertAnswer(replayed, 404, 'Delivery not found')
})

it('pauses grow, each ten percent up or down, until 24 hours after the event', () => {
  const pause = (attempts: number, { ageMs = 0, retryAfterMs = 0, speed = 1, chance = 0.5 } = {}) =>
    nextPause({ attempts, ageMs, retryAfterMs }, speed, () => chance)
  const minutes = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((attempts) => Math.round(pause(attempts)! / 600) / 100)
  assert.deepEqual(minutes, [0.08, 0.5, 2, 10, 30, 60, 120, 240, 240])
  assert.equal(pause(1, { chance: 1 }), 5_500)
  assert.equal(pause(1, { retryAfterMs: 60_000, speed: 10, chance: 0 }), 6_000)
  const late = 24 * 3_600_000 - 240 * 60_000
  assert.equal(pause(9, { ageMs: late }), 240 * 60_000)
  assert.equal(pause(9, { ageMs: late + 1 }), null)
})

it('five endpoints an account, and no sixth; URLs that cannot be', async () => {
  const account = await api.account()
  const add = (body: unknown, { key } = account) => api.post('/api/endpoints', key, body)
  const url = 'https://hooks.example.com/x'
  for (let n = 0; n < 5; n++) {
    const { status, body } = await add({ url })
    const { secret, ...endpoint } = body['endpoint'] as Endpoint & { secret: string }
    assert.equal(status, 201)
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    const { body: listed } = await api.get('/api/endpoints', account.key)
    assert.deepEqual((listed['endpoints'] as Endpoint[]).at(-1), endpoint)
    assert.equal(endpoint.events.includes('report.weekly'), false)
  }
  assertAnswer(await add({ url }), 403, 'Endpoint limit reached (5 per account)')
  const internal = 'unless the operator allows it (PREPAINT_ALLOW_PRIVATE_ORIGINS)'
  for (const [wrong, reason] of [
    ['https://hooks.example.com:444/', 'must use port 443 or one from 1024 up'],
    ['https://u@hooks.example.com/', 'must not contain a user name or password'],
    ['https://hooks.example.com/#x', 'must not have a fragment'],
    ['http://hooks.example.com/', 'must use https'],
    ['https://10.0.0.1/', `must not be an internal address, ${internal}`],
    ['x', 'must be a full URL such as https://hooks.example.com/path'],
    [`https://hooks.example.com/${'x'.repeat(2_048)}`, 'must be at most 2048 characters'],
  ]) {
    assertAnswer(await add({ url: wrong }), 400, `Invalid endpoint URL: ${reason}`)
  }
  for (const [body, error] of [
    [{}, 'url is required'],
    [{ url: 5 }, 'url must be a string'],
    [{ url, events: ['endpoint.test'] }, /^events\[0\] must be "incident.opened" or/],
    [{ url, format: 'x' }, 'format must be "standard" or "slack"'],
  ] as const) {
    assertAnswer(await add(body), 400, error)
  }
  const at1024 = { url: `https://hooks.example.com:1024/${'x'.repeat(2_048 - 31)}` }
  assert.equal((await add(at1024, await api.account())).status, 201)
})

it('thirty tests and replays a minute of an account, and not one more', async () => {
  const { account, endpoint } = await endpointThat()
  for (let n = 0; n < 30; n++) assert.equal((await tryOut(account, endpoint)).status, 202)
  const refused = await tryOut(account, endpoint)
  assert.equal(refused.status, 429)
  assert(Number(refused.headers.get('retry-after')) >= 1)
})
