/** One client that asks for too much at a time: it is told so, and everybody else is served. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http from 'node:http'
import type { Duplex } from 'node:stream'
import { afterEach, describe, it } from 'node:test'
import ipaddr from 'ipaddr.js'
import { loadConfig } from '../../../../bin/settings/config.ts'
import { until } from '../../../../test/support/condition.ts'
import { type Answer, openEdge, PERSON } from '../../../../test/support/edge.ts'
import { openSocket } from '../../../../test/support/loopback.ts'
import { rawHalf } from '../../../../test/support/raw-request.ts'
import { MOST_OF_ONE_CLIENT } from '../origin/origin-share.ts'

const REQUESTS = MOST_OF_ONE_CLIENT + 2
const waiting: http.ServerResponse[] = []
const edge = await openEdge({
  clients: {
    ...{ ...loadConfig({}).clients, requests: REQUESTS, connections: 400, unlimited: [] },
    trustedProxies: [ipaddr.parseCIDR('127.0.0.0/8')],
  },
  origin: (req, res) => {
    if (req.url?.startsWith('/hangs')) waiting.push(res)
    else res.end('from the origin')
  },
})
afterEach(() => {
  for (const res of waiting.splice(0)) res.end()
})

const from = (client: string, host = 'red.example') => ({
  ...{ agent: PERSON, host, headers: { 'x-forwarded-for': client } },
})
async function hang(client: string, count: number, host?: string): Promise<Promise<Answer>[]> {
  const already = waiting.length
  const asked = Array.from({ length: count }, () => edge.ask('/hangs', from(client, host)))
  await until('the origin has them', () => waiting.length === already + count)
  return asked
}
/** The origin answers all that it holds; each gets its 200. */
async function answerAll(asked: Promise<Answer>[]): Promise<void> {
  for (const res of waiting.splice(0)) res.end()
  for (const answer of asked) assert.equal((await answer).status, 200)
}

it('requests of one client to one origin: so many, one more is 429; others and other sites are served', async () => {
  const asked = await hang('203.0.113.1', MOST_OF_ONE_CLIENT)
  const past = await edge.ask('/hangs', from('203.0.113.1'))
  assert.deepEqual([past.status, past.headers['retry-after']], [429, '30'])
  assert.equal((await edge.ask('/', from('203.0.113.2'))).status, 200)
  assert.equal((await edge.ask('/', from('203.0.113.1', 'blue.example'))).status, 200)
  // What is stored needs no connection to the origin.
  await edge.ask('/stored')
  const stored = await edge.ask('/stored', { headers: { 'x-forwarded-for': '203.0.113.1' } })
  assert.equal(stored.verdict, 'hit')
  await answerAll(asked)
  assert.equal((await edge.ask('/', from('203.0.113.1'))).status, 200)
})

it('WebSockets of one client: those that the origin has not answered are requests to it; those that it took are not', async (t) => {
  const handshakes: Duplex[] = []
  edge.originServer.on('upgrade', (_req, socket: Duplex) => {
    socket.on('error', () => {})
    handshakes.push(socket)
  })
  t.after(() => void edge.originServer.removeAllListeners('upgrade'))
  const open = () => {
    const socket = openSocket(t, edge.port)
    socket.write(
      'GET /live HTTP/1.1\r\nHost: red.example\r\nX-Forwarded-For: 203.0.113.9\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    return once(socket, 'data').then(([part]) => String(part).split('\r\n', 1)[0])
  }
  const asked = Array.from({ length: MOST_OF_ONE_CLIENT }, open)
  await until('the origin has them', () => handshakes.length === asked.length)
  assert.match((await open()) ?? '', /^HTTP\/1\.1 429 /)
  assert.equal((await edge.ask('/', from('203.0.113.9'))).status, 429)
  for (const socket of handshakes) {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  }
  for (const line of await Promise.all(asked)) assert.match(line ?? '', /^HTTP\/1\.1 101 /)
  assert.equal((await edge.ask('/', from('203.0.113.9'))).status, 200)
})

describe('requests of one client in all', () => {
  it('at the limit requests are answered, and one more gets 429, whatever it asks for; another address gets its page', async () => {
    const asked = [
      ...(await hang('203.0.113.3', MOST_OF_ONE_CLIENT)),
      ...(await hang('203.0.113.3', REQUESTS - MOST_OF_ONE_CLIENT, 'blue.example')),
    ]
    const past = await edge.ask('/', from('203.0.113.3'))
    assert.deepEqual([past.status, past.verdict], [429, 'none; too-many-requests'])
    assert.match(String(past.body), /Too many requests at once come from your address/)
    const crawler = await edge.ask('/page', { headers: { 'x-forwarded-for': '66.249.66.1' } })
    assert.equal(crawler.verdict, 'rendered')
    await answerAll(asked)
  })

  it('a refused body is not taken for the next request', async () => {
    const asked = await hang('203.0.113.4', MOST_OF_ONE_CLIENT)
    const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: red.example\r\n\r\n'
    const head =
      'POST /hangs HTTP/1.1\r\nHost: red.example\r\nX-Forwarded-For: 203.0.113.4\r\nContent-Length: '
    const got = await rawHalf(edge.server, `${head}${smuggled.length + 10}\r\n\r\n${smuggled}`)
    assert.deepEqual(got.match(/^HTTP\/1\.1 \d+/gm), ['HTTP/1.1 429'])
    await answerAll(asked)
  })
})
