/** What one client can make the edge hold and do: each budget at its limit and one past it, and who is never refused. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type net from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { REFUSALS_BEFORE_PAUSE } from '@prepaint/runtime/http/client-pauses.ts'
import ipaddr from 'ipaddr.js'
import { loadConfig } from '../../../../bin/settings/config.ts'
import { until } from '../../../../test/support/condition.ts'
import { GOOGLEBOT, openEdge, PERSON } from '../../../../test/support/edge.ts'
import { ENHANCE_YOUR_CALM, FRAME, frame, get, rawHttp2 } from '../../../../test/support/http2-frames.ts'
import { openSocket } from '../../../../test/support/loopback.ts'

const LARGE = Buffer.alloc(8 * 1024 * 1024)
const WINDOW_MS = 10_000
const limited = { ...loadConfig({}).clients, unlimited: [] }

/** Statements whose names begin so are held until the test lets them go. */
const held: { prefix: string | null; waiting: (() => void)[] } = { prefix: null, waiting: [] }
const hold = (prefix: string) => {
  held.prefix = prefix
}
const letGo = () => {
  held.prefix = null
  for (const go of held.waiting.splice(0)) go()
}

const refused: string[] = []
const hanging: http.ServerResponse[] = []
const origin: http.RequestListener = (req, res) => {
  if (req.url?.startsWith('/hangs')) hanging.push(res)
  else if (req.url === '/large') res.end(LARGE)
  else res.end('from the origin')
}

/** Names clients by X-Forwarded-For. */
const edge = await openEdge({
  tls: true,
  clients: { ...limited, trustedProxies: [ipaddr.parseCIDR('127.0.0.0/8')] },
  budgets: { misses: 3, lookups: 3, bodies: 2, 'header-bytes': 8_000, resets: 5 },
  origin,
  queries({ name }) {
    if (held.prefix === null || !name.startsWith(held.prefix)) return
    return new Promise<void>((resolve) => held.waiting.push(resolve))
  },
  parts: { noteRefused: (budget) => void refused.push(budget) },
})
let clients = 0
const newClient = () => `203.0.113.${++clients}`
const crawler = (client: string) => ({ agent: GOOGLEBOT, headers: { 'x-forwarded-for': client } })
const person = (client: string, headers: Record<string, string> = {}) => ({
  agent: PERSON,
  headers: { 'x-forwarded-for': client, ...headers },
})
const isRefused = async (asked: ReturnType<typeof edge.ask>, budget: string) => {
  refused.length = 0
  const { status, verdict } = await asked
  assert.deepEqual([status, verdict], [429, 'none; too-many-requests'])
  assert.deepEqual(refused, [budget])
}

describe('a budget of one client', () => {
  it('misses: at the limit they wait for their renders, one more is refused, hits and other clients are served', async () => {
    const client = newClient()
    assert.equal(await edge.verdict('/stored', crawler(newClient())), 'rendered')
    edge.script('hang', 'hang', 'hang')
    const asked = ['/m1', '/m2', '/m3'].map((path) => edge.verdict(path, crawler(client)))
    await until('they wait', () => edge.waiting() === 3)
    await isRefused(edge.ask('/m4', crawler(client)), 'misses')
    assert.equal(await edge.verdict('/stored', crawler(client)), 'hit')
    asked.push(edge.verdict('/m4', crawler(newClient())))
    for (let job = 0; job < 3; job++) await edge.work()
    assert.deepEqual(await Promise.all(asked), ['rendered', 'rendered', 'rendered', 'rendered'])
    assert.equal(await edge.verdict('/m5', crawler(client)), 'rendered')
  })

  it('misses over HTTP/2: the stream that is one too many ends with ENHANCE_YOUR_CALM, and the session goes on', async (t) => {
    const client = newClient()
    await edge.verdict('/stored', crawler(newClient()))
    const session = edge.session(t)
    const request = (path: string) =>
      session.request({
        ':path': path,
        ':authority': 'red.example',
        'user-agent': GOOGLEBOT,
        'x-forwarded-for': client,
      })
    edge.script('hang', 'hang', 'hang')
    const waiting = ['/h1', '/h2', '/h3'].map(request)
    for (const stream of waiting) stream.on('error', () => {})
    await until('they wait', () => edge.waiting() === 3)
    const past = request('/h4')
    past.on('error', () => {})
    await new Promise((resolve) => past.once('close', resolve))
    assert.equal(past.rstCode, ENHANCE_YOUR_CALM)
    const [stored] = await once(request('/stored').resume(), 'response')
    assert.equal(stored['x-prepaint'], 'hit')
    for (const stream of waiting) stream.close(http2.constants.NGHTTP2_CANCEL)
    await until('their places are free', () => edge.waiting() === 0)
    await edge.pool.query('delete from job')
  })

  it('look-ups: at the limit they wait for PostgreSQL, one more is refused; what is in memory needs none', async () => {
    const client = newClient()
    await edge.verdict('/stored', crawler(newClient()))
    hold('stored-page')
    const asked = ['/l1', '/l2', '/l3'].map((path) => edge.verdict(path, crawler(client)))
    await until('they are under way', () => held.waiting.length === 3)
    await isRefused(edge.ask('/l4', crawler(client)), 'lookups')
    assert.equal(await edge.verdict('/stored', crawler(client)), 'hit')
    letGo()
    assert.deepEqual(await Promise.all(asked), ['rendered', 'rendered', 'rendered'])
    assert.equal(await edge.verdict('/l4', crawler(client)), 'rendered')
  })

  it('bodies: at the limit they are converted, one more is refused; HTML needs none', async () => {
    const client = newClient()
    const markdown = { agent: null, headers: { 'x-forwarded-for': client, accept: 'text/markdown' } }
    for (const path of ['/b1', '/b2', '/b3']) await edge.verdict(path, crawler(newClient()))
    hold('page-form-read')
    const asked = ['/b1', '/b2'].map((path) => edge.ask(path, markdown))
    await until('they are under way', () => held.waiting.length === 2)
    await isRefused(edge.ask('/b3', markdown), 'bodies')
    assert.equal(await edge.verdict('/b3', crawler(client)), 'hit')
    letGo()
    for (const { status, headers } of await Promise.all(asked)) {
      assert.equal(status, 200)
      assert.match(headers['content-type'] ?? '', /^text\/markdown/)
    }
    assert.equal((await edge.ask('/b3', markdown)).status, 200)
  })

  it('bytes of headers: requests without an answer count, one more is refused, answered ones make room', async () => {
    const client = newClient()
    const long = person(client, { 'x-long': 'y'.repeat(2_400) })
    const asked = [1, 2, 3].map(() => edge.ask('/hangs', long))
    await until('the origin has them', () => hanging.length === 3)
    await isRefused(edge.ask('/', long), 'header-bytes')
    assert.equal((await edge.ask('/', person(newClient(), { 'x-long': 'y'.repeat(2_400) }))).status, 200)
    for (const res of hanging.splice(0)) res.end()
    for (const answer of asked) assert.equal((await answer).status, 200)
    assert.equal((await edge.ask('/', long)).status, 200)
  })

  it('resets: one more than the limit, and requests are refused until the ten seconds are over', async (t) => {
    const client = newClient()
    const breakOff = async () => {
      const socket = openSocket(t, edge.port)
      socket.write(`GET /hangs HTTP/1.1\r\nHost: red.example\r\nX-Forwarded-For: ${client}\r\n\r\n`)
      await until('the origin has it', () => hanging.length === 1)
      socket.destroy()
      await once(hanging.splice(0)[0]!, 'close')
    }
    for (let reset = 0; reset < 5; reset++) await breakOff()
    assert.equal((await edge.ask('/', person(client))).status, 200)
    await breakOff()
    await isRefused(edge.ask('/', person(client)), 'resets')
    assert.equal((await edge.ask('/', person(newClient()))).status, 200)
    edge.wait(WINDOW_MS + 1)
    assert.equal((await edge.ask('/', person(client))).status, 200)
  })

  it('resets: streams that we refuse are none', async (t) => {
    const client = newClient()
    edge.script('hang', 'hang', 'hang')
    const asked = ['/r1', '/r2', '/r3'].map((path) => edge.verdict(path, crawler(client)))
    await until('they wait', () => edge.waiting() === 3)
    const session = edge.session(t)
    const headers = { ':authority': 'red.example', 'user-agent': GOOGLEBOT, 'x-forwarded-for': client }
    for (let stream = 0; stream < 7; stream++) {
      const refusedStream = session.request({ ...headers, ':path': `/over-${stream}` })
      refusedStream.on('error', () => {})
      await new Promise((resolve) => refusedStream.once('close', resolve))
      assert.equal(refusedStream.rstCode, ENHANCE_YOUR_CALM)
    }
    assert.equal((await edge.ask('/', person(client))).status, 200)
    for (let job = 0; job < 3; job++) await edge.work()
    await Promise.all(asked)
  })
})

/** Clients are the addresses of their connections. */
async function openDirect(t: TestContext, budgets: Record<string, number> = {}) {
  const direct = await openEdge(
    {
      ...{ tls: true, origin, budgets, clients: { ...limited, trustedProxies: [] } },
      parts: { noteRefused: (budget) => void refused.push(budget) },
    },
    t,
  )
  const ask = async (localAddress: string, path = '/'): Promise<number | 'closed'> => {
    const headers = { host: 'red.example', 'user-agent': PERSON }
    const req = http.get({ port: direct.port, host: '127.0.0.1', localAddress, path, headers, agent: false })
    try {
      const [res] = (await once(req, 'response')) as [http.IncomingMessage]
      res.resume()
      return res.statusCode!
    } catch {
      return 'closed'
    }
  }
  return { direct, ask }
}

const ONE = '127.0.0.1'
const OTHER = '127.0.0.2'

it('unsent bytes: a client whose connections hold more is refused until it has taken them; others are not', async (t) => {
  const { direct, ask } = await openDirect(t, { 'unsent-bytes': 100_000 })
  const sockets: net.Socket[] = []
  for (let count = 0; count < 12; count++) {
    const socket = openSocket(t, direct.port)
    socket.pause()
    socket.write(`GET /large HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${PERSON}\r\n\r\n`)
    sockets.push(socket)
  }
  const statusLater = (client: string) => {
    // The sum is made anew after a while.
    direct.wait(300)
    return ask(client)
  }
  await until('it is refused', async () => (await statusLater(ONE)) === 429)
  assert.equal(refused.at(-1), 'unsent-bytes')
  assert.equal(await statusLater(OTHER), 200)
  for (const socket of sockets) socket.destroy()
  await until('it is served', async () => (await statusLater(ONE)) === 200)
})

it('control frames: connections of one client count together; one past the limit ends its session', async (t) => {
  const { direct } = await openDirect(t, { 'control-frames': 60 })
  const connect = async () => {
    const connection = await rawHttp2(direct.tlsPort)
    t.after(() => void connection.socket.destroy())
    await connection.until(({ type }) => type === FRAME.settings)
    return connection
  }
  const ping = () => frame(FRAME.ping, 0, 0, Buffer.alloc(8))
  const [first, second] = [await connect(), await connect()]
  first.send(...Array.from({ length: 29 }, ping))
  await until('they are answered', () => first.frames.filter(({ type }) => type === FRAME.ping).length === 29)
  // Both connections began with settings.
  second.send(...Array.from({ length: 29 }, ping))
  await until(
    'they are answered',
    () => second.frames.filter(({ type }) => type === FRAME.ping).length === 29,
  )
  second.send(ping())
  const { payload } = await second.until(({ type }) => type === FRAME.goaway)
  assert.equal(payload.readUInt32BE(4), ENHANCE_YOUR_CALM)
  assert.equal(first.socket.destroyed, false)
})

it('a client that goes on is paused: open sessions get GOAWAY, new connections are refused, and others are served', async (t) => {
  const { direct, ask } = await openDirect(t, { resets: 0 })
  const session = await rawHttp2(direct.tlsPort)
  t.after(() => void session.socket.destroy())
  await session.until(({ type }) => type === FRAME.settings)
  const breaking = openSocket(t, direct.port)
  breaking.write('GET /hangs HTTP/1.1\r\nHost: red.example\r\n\r\n')
  await until('the origin has it', () => hanging.length === 1)
  breaking.destroy()
  await once(hanging.splice(0)[0]!, 'close')
  for (let time = 0; time < REFUSALS_BEFORE_PAUSE; time++) assert.equal(await ask(ONE), 429)
  refused.length = 0
  assert.equal(await ask(ONE), 429)
  assert.deepEqual(refused, ['resets'])
  // Paused: the connection itself is refused.
  assert.equal(await ask(ONE), 429)
  assert.deepEqual(refused, ['resets'])
  session.send(get(1, '/'))
  const { payload } = await session.until(({ type }) => type === FRAME.goaway)
  assert.equal(payload.readUInt32BE(4), ENHANCE_YOUR_CALM)
  await assert.rejects(
    rawHttp2(direct.tlsPort).then(({ until }) => until(({ type }) => type === FRAME.settings)),
  )
  assert.equal(await ask(OTHER), 200)
  direct.wait(WINDOW_MS + 1)
  assert.equal(await ask(ONE), 200)
})

describe('clients that are never refused', () => {
  it('an office of 200 people behind one address, each with a connection, who also break off pages', async (t) => {
    const { direct } = await openDirect(t)
    refused.length = 0
    const PEOPLE = 200
    const statuses = new Map<number, number>()
    const asked = (path: string) => ({ ':path': path, ':authority': 'red.example', 'user-agent': PERSON })
    const visit = async () => {
      const session = http2.connect(`https://127.0.0.1:${direct.tlsPort}`, {
        ...{ servername: 'red.example', rejectUnauthorized: false },
      })
      session.on('error', () => {})
      t.after(() => session.destroy())
      await once(session, 'connect')
      for (let page = 0; page < 5; page++) {
        const stream = session.request(asked(`/${page}`))
        stream.on('error', () => {})
        const [head] = await once(stream, 'response')
        const status = Number(head[':status'])
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        const left = session.request(asked(`/left-${page}`))
        left.on('error', () => {})
        await nextTurn()
        left.close(http2.constants.NGHTTP2_CANCEL)
        await once(stream.resume(), 'close')
      }
    }
    // Not all of them click in the same millisecond. Their connections stay open.
    let arrived = 0
    const arrive = async () => {
      while (arrived < PEOPLE) {
        arrived++
        await visit()
      }
    }
    await Promise.all(Array.from({ length: 50 }, arrive))
    assert.deepEqual([...statuses], [[200, 5 * PEOPLE]])
    assert.deepEqual(refused, [])
  })

  it('Googlebot with 100 connections from one address, all waiting for renders at once', async (t) => {
    const { direct } = await openDirect(t)
    refused.length = 0
    const ask = async (at: number) => (await direct.ask(`/g${at}`, { agent: GOOGLEBOT })).status
    // On a busy machine some of them wait to their deadline, and pass. Then the pages are stored, or rendered again.
    for (let time = 0; time < 2; time++) {
      const statuses = await Promise.all(Array.from({ length: 100 }, (_, at) => ask(at)))
      assert.deepEqual([...new Set(statuses)], [200])
    }
    assert.deepEqual(refused, [])
  })
})

it('a client without limits has no budgets', async (t) => {
  const direct = await openEdge(
    {
      ...{ origin, budgets: { misses: 0, lookups: 0, bodies: 0, 'header-bytes': 0, resets: 0 } },
      clients: { ...limited, unlimited: [ipaddr.parseCIDR('127.0.0.0/8')], trustedProxies: [] },
    },
    t,
  )
  assert.equal(await direct.verdict('/page'), 'rendered')
  assert.equal(await direct.verdict('/page'), 'hit')
})
