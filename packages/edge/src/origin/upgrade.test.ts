import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http from 'node:http'
import type { Duplex } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import { until } from '../../../../test/support/condition.ts'
import { GPTBOT, openEdge, PERSON } from '../../../../test/support/edge.ts'
import { rawClient } from '../../../../test/support/raw-request.ts'
import type { EdgeBackend } from '../backend.ts'

let seen: string[]
/** Verdict and request id of all that was counted. */
const told: string[] = []
const answered: EdgeBackend['answered'] = (req, { verdict, status }) => {
  told.push(`${status === 0 ? '' : `${status} `}${verdict} ${requestIdOf(req)}`)
}
const edge = await openEdge({
  parts: { answered },
  origin: (_req, res) => res.writeHead(426, { 'x-why': 'no' }).end('not here'),
})

const handshake = (extra = '') =>
  `GET /live?x=1 HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${PERSON}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
  `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n${extra}\r\n`

const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'

/** The next handshake as the origin sees it, with what came right behind it. */
async function atOrigin() {
  const asked = (await once(edge.originServer, 'upgrade')) as [http.IncomingMessage, Duplex, Buffer]
  asked[1].on('error', () => {})
  return asked
}
/** The origin accepts and says `greeting` in the same breath; then it repeats what it hears. */
async function accept(greeting: string): Promise<Duplex> {
  const [req, socket, head] = await atOrigin()
  seen = [req.url ?? '', ...req.rawHeaders]
  socket.write(`${SWITCHED}Sec-WebSocket-Accept: abc\r\n\r\n${greeting}`)
  socket.write(head)
  return socket.pipe(socket)
}

function connect(t: TestContext, bytes: string, allowHalfOpen = false) {
  const client = rawClient(t, edge.port, allowHalfOpen)
  client.socket.write(bytes)
  return client
}

// Proves decided "HTTP versions"
it('a WebSocket goes through with what both sides send right behind the handshake, and then both ways', async (t) => {
  const accepted = accept('greeting')
  const { socket, has } = connect(t, `${handshake('X-Forwarded-For: 10.0.0.1\r\n')}first`)
  const got = await has(/greetingfirst/)
  const lines = ['Upgrade: websocket', 'Sec-WebSocket-Accept: abc', 'X-Prepaint: pass; not-a-crawler']
  assert.match(got, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
  for (const line of lines) assert(got.includes(`\r\n${line}\r\n`), line)
  socket.write('second')
  await has(/second/)

  assert.equal(seen[0], '/live?x=1')
  const sent = (name: string) => seen[seen.findIndex((text, at) => at % 2 === 1 && text === name) + 1]
  assert.equal(sent('Host'), new URL(edge.origin).host)
  assert.equal(sent('X-Forwarded-For'), '127.0.0.1')
  assert.equal(sent('Upgrade'), 'websocket')
  const [, id] = /\r\nX-Request-Id: ([\w-]+)\r\n/.exec(got)!
  assert.deepEqual([told, sent('X-Request-Id')], [[`pass; not-a-crawler ${id}`], id])
  assert.equal(sent('Sec-WebSocket-Key'), 'dGhlIHNhbXBsZSBub25jZQ==')

  const origin = await accepted
  const closed = once(origin, 'close')
  socket.destroy()
  await closed
})

/** All connections to the edge are closed, on its side. */
async function allClosed(): Promise<void> {
  const open = () =>
    new Promise<number>((resolve) => edge.server.getConnections((_error, count) => resolve(count)))
  await until('no connection is open', async () => (await open()) === 0)
}

describe('no connection is left', () => {
  it('when the client ends its half and the origin says nothing more', async (t) => {
    const asked = atOrigin()
    const { socket, has } = connect(t, handshake())
    const [, origin] = await asked
    origin.write(`${SWITCHED}\r\n`)
    await has(/\r\n\r\n/)
    const closed = once(origin, 'close')
    socket.end('last words')
    assert.equal(String((await once(origin, 'data'))[0]), 'last words')
    await allClosed()
    origin.destroy()
    await closed
  })

  it('when the origin ends, whatever the client does', async (t) => {
    const accepted = accept('')
    const { has } = connect(t, handshake(), true)
    await has(/\r\n\r\n/)
    ;(await accepted).end('goodbye')
    await has(/goodbye/)
    await allClosed()
  })

  it('after a refusal, whatever the client does', async (t) => {
    for (const host of ['red.example', 'nobody.example']) {
      await connect(t, handshake().replace('red.example', host), true).has(/not here|<\/html>/)
      await allClosed()
    }
  })
})

describe('no WebSocket', () => {
  it("the origin's refusal that breaks off breaks off for the client, and does not end as if whole", async (t) => {
    const asked = atOrigin()
    const { ended } = connect(t, handshake())
    const [, origin] = await asked
    const half = 'HTTP/1.1 403 No\r\nContent-Length: 100\r\n\r\nhalf'
    origin.write(half, () => setImmediate(() => origin.destroy()))
    assert.match(await ended, /^HTTP\/1\.1 403 .*\r\nContent-Length: 100\r\n.*\r\n\r\nhalf$/s)
  })

  it('an origin that breaks off: 502; once too often through us: 508', async (t) => {
    edge.originServer.once('upgrade', (_req, socket: Duplex) => socket.destroy())
    assert.match(await connect(t, handshake()).ended, /^HTTP\/1\.1 502 /)
    const looped = connect(t, handshake('Via: 1.1 prepaint, 1.1 prepaint, 1.1 prepaint\r\n'))
    assert.match(await looped.ended, /^HTTP\/1\.1 508 /)
  })

  it('where the owner redirects, or blocks the crawler: as every request', async (t) => {
    await allClosed()
    told.length = 0
    await edge.pool.query(
      `insert into site_version (domain_id, kind, content, author) values ($1, 'redirects', $2, 'a test')`,
      [edge.red, JSON.stringify([{ from: '/live', to: 'https://blue.example/live', status: 308 }])],
    )
    await edge.settings({ categories: { 'ai-training': 'block' } })
    const other = handshake().replace('/live', '/other')
    for (const [text, head] of [
      [handshake(), /^HTTP\/1\.1 308 .*\r\nLocation: https:\/\/blue\.example\/live\?x=1\r\n/s],
      [other.replace(PERSON, GPTBOT), /^HTTP\/1\.1 403 .*\r\nX-Prepaint: blocked; ai-training\r\n/s],
      [other, /^HTTP\/1\.1 426 /],
      [other.replace(PERSON, GPTBOT).replace('/other', '/robots.txt'), /^HTTP\/1\.1 426 /],
    ] as const) {
      const got = await connect(t, text).ended
      assert.match(got, head)
      assert.match(got, /\r\nConnection: close\r\n/)
    }
    await allClosed()
    assert.deepEqual(told.map((line) => line.replace(/ [\w-]+$/, '')).sort(), [
      '308 redirect',
      '403 blocked; ai-training',
      'pass; method',
      'pass; not-a-crawler',
    ])
  })

  it('another protocol is ignored: the request is answered as if it had not been asked for', async (t) => {
    const h2c = 'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n\r\n'
    const client = connect(t, `GET / HTTP/1.1\r\nHost: red.example\r\n${h2c}`)
    assert.match(await client.has(/not here/), /^HTTP\/1\.1 426 /)
  })
})
