import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type http from 'node:http'
import { after, describe, it } from 'node:test'
import { standsAt } from '../../../../test/support/condition.ts'
import { pour } from '../../../../test/support/edge.ts'
import {
  ask,
  CUSTOM_DOMAIN,
  proxyAuthorizationOf,
  readAll,
  readHead,
  startTestGateway,
} from '../../../../test/support/gateway.ts'
import { rawRequest } from '../../../../test/support/raw-request.ts'
import { createGatewayKey } from './tls-key.ts'

/** Answers with what it was asked. */
const echo: http.RequestListener = async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString()
  const { method, url, headers } = request
  response.end(JSON.stringify({ method, url, headers, body }))
}
const UPGRADE = `GET /ws HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`

/** What the origin does is set by each test. */
let answer: http.RequestListener
const origin: http.RequestListener = (request, response) => answer(request, response)
const gateway = await startTestGateway({ after }, { origin })
const named = await startTestGateway(
  { after },
  {
    origin: echo,
    originHost: 'origin.example',
    lookup: async () => ['127.0.0.1'],
    originHeaders: ['X-Secret', 'canary'],
  },
)

describe('the custom domain', () => {
  it('is fetched from its origin, with the Host of the origin and the forwarding headers', async () => {
    answer = echo
    const { raw, originPort } = gateway
    const sent = { cookie: 'a=1', 'accept-encoding': 'br', via: '1.1 page' }
    const { status, body } = await gateway.own('/a/../b?x=%2F&y', sent)
    const { url, headers } = JSON.parse(body)
    assert.deepEqual([status, url], [200, '/a/../b?x=%2F&y'])
    const forwarding = { 'x-forwarded-host': CUSTOM_DOMAIN, 'x-forwarded-proto': 'https' }
    const own = { host: `127.0.0.1:${originPort}`, via: '1.1 prepaint', 'x-prerender': '1', connection: '' }
    assert.deepEqual({ ...headers, connection: '' }, { ...sent, ...own, ...forwarding })
    const plain = `GET http://${CUSTOM_DOMAIN}/x HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n`
    assert.match(await raw(plain), /^HTTP\/1.1 200 [\s\S]*"url":"\/x"[\s\S]*"x-forwarded-proto":"http"/)
  })

  it('shows the certificate whose hash Chromium is told, and its private key to nobody', async () => {
    const socket = await gateway.openOwn('h2')
    const shown = socket.getPeerX509Certificate()!.publicKey.export({ type: 'spki', format: 'der' })
    assert.equal(createHash('sha256').update(shown).digest('base64'), gateway.gateway.spkiHash)
    assert.equal(socket.alpnProtocol, 'h2')
    const key = createGatewayKey()
    assert.notEqual(key.spkiHash, createGatewayKey().spkiHash)
    assert.deepEqual(Object.keys(key).sort(), ['certificate', 'secureContext', 'spkiHash'])
    assert.doesNotMatch(JSON.stringify(key), /PRIVATE/)
    const read = new X509Certificate(key.certificate)
    assert(read.verify(read.publicKey))
  })

  it('gets bodies of every kind, framed for good', async () => {
    answer = echo
    const smuggled = 'GET /smuggled HTTP/1.1\r\n\r\n'
    for (const method of ['POST', 'DELETE']) {
      const asked = JSON.parse((await gateway.own('/', { ':method': method }, smuggled)).body)
      assert.deepEqual([asked.method, asked.body], [method, smuggled])
      assert.equal(asked.headers['transfer-encoding'], 'chunked')
    }
    const { body } = await gateway.own('/', { ':method': 'POST', 'content-length': '2' }, 'ok')
    assert.deepEqual([JSON.parse(body).headers['content-length'], JSON.parse(body).body], ['2', 'ok'])
  })

  it('streams: the first bytes arrive before the last are written, and no faster than the page takes them', async () => {
    const { promise, resolve } = Promise.withResolvers<http.ServerResponse>()
    answer = (_request, response) => resolve(response)
    const stream = (await gateway.openSession()).request({ ':path': '/' })
    const response = await promise
    response.write('first')
    assert.equal(String((await once(stream, 'data'))[0]), 'first')
    stream.pause()
    assert((await standsAt(pour(response))) < 100)
    stream.on('error', () => {}).close()
  })

  it('shows its own name instead of the origin’s', async () => {
    answer = ({ headers: { host } }, response) =>
      void response.writeHead(302, { location: `http://${host}/next`, 'x-prepaint-gateway': 'forged' }).end()
    const { headers } = await gateway.own('/')
    assert.equal(headers.location, `https://${CUSTOM_DOMAIN}/next`)
    assert.equal(headers['x-prepaint-gateway'], undefined)
  })

  it('upgrades to a WebSocket, or passes on that the origin does not', async () => {
    const { openOwn, connect, origin, originPort } = gateway
    answer = (_request, response) => response.writeHead(404).end('no')
    const refused = await openOwn('http/1.1')
    refused.write(`${UPGRADE}\r\n`)
    assert.match(await readAll(refused), /^HTTP\/1.1 404 /)

    origin.on('upgrade', (request: http.IncomingMessage, socket) => {
      const { host, upgrade, 'x-forwarded-host': forwarded } = request.headers
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n')
      socket.write(`Sec-WebSocket-Accept: ${request.headers['sec-websocket-key']}\r\n\r\n`)
      socket.write(`${host} ${upgrade} ${forwarded}\n`)
      socket.pipe(socket)
    })
    for (const socket of [await openOwn('http/1.1'), (await connect(`${CUSTOM_DOMAIN}:80`)).socket]) {
      socket.write(`${UPGRADE}Sec-WebSocket-Key: abc\r\n\r\n`)
      assert.match(await readHead(socket), /^HTTP\/1.1 101 [\s\S]*sec-websocket-accept: abc\r\n/i)
      socket.write('ping')
      let heard = ''
      socket.on('data', (chunk: Buffer) => {
        heard += String(chunk)
      })
      while (!heard.endsWith('ping')) await once(socket, 'data')
      assert.equal(heard, `127.0.0.1:${originPort} websocket ${CUSTOM_DOMAIN}\nping`)
      socket.destroy()
    }
    origin.removeAllListeners('upgrade')
  })
})

describe('connections to the origin', () => {
  it('that broke while they were kept: asked again; what may not be sent twice has one of its own', async (t) => {
    const used = new Set<unknown>()
    const asked: string[] = []
    const { openSession } = await startTestGateway(t, {
      origin: (request, response) => {
        asked.push(`${request.method} ${request.url}`)
        // As if it had been closed just before: no answer, a reset.
        if (used.has(request.socket) || request.url === '/reset') request.socket.resetAndDestroy()
        else echo(request, response)
        used.add(request.socket)
      },
    })
    const session = await openSession()
    for (const method of ['GET', 'GET', 'OPTIONS'])
      assert.equal((await ask(session, { ':path': '/', ':method': method })).status, 200)
    assert.equal(used.size, 3)
    for (const method of ['POST', 'PATCH']) {
      const { status, body } = await ask(session, { ':path': '/', ':method': method }, 'x')
      assert.deepEqual([status, JSON.parse(body).body], [200, 'x'], method)
    }
    assert.equal((await ask(session, { ':path': '/', ':method': 'DELETE' })).status, 200)
    const { status, headers } = await ask(session, { ':path': '/reset', ':method': 'POST' }, 'once')
    assert.deepEqual([status, headers['x-prepaint-gateway']], [502, 'broken-response'])
    assert.equal(asked.filter((line) => line === 'POST /reset').length, 1)
  })

  it('are no way from one site to another: each has its own, also to the same host', async () => {
    const ports: (number | undefined)[] = []
    answer = (request, response) => {
      ports.push(request.socket.remotePort)
      response.end('x')
    }
    const originUrl = `http://127.0.0.1:${gateway.originPort}`
    const open = (customDomain: string) => gateway.gateway.openSite({ customDomain, originUrl })
    const [red, blue] = [await open('red.example'), await open('blue.example')]
    const get = (site: typeof red, path: string) => {
      const headers = { host: new URL(path).host, 'proxy-authorization': proxyAuthorizationOf(site) }
      return rawRequest(site.proxyUrl, { path, headers })
    }
    for (const site of [red, red, blue]) await get(site, `${originUrl}/`)
    await get(blue, 'http://blue.example/')
    await get(red, 'http://red.example/')
    const [first, again, ofBlue, ownOfBlue, ownOfRed] = ports
    assert.equal(again, first)
    assert(![ofBlue, ownOfBlue].includes(first))
    assert(![ofBlue, ownOfBlue].includes(ownOfRed))
  })
})

describe('faults of the origin are told from its answers', () => {
  const fault = async () => {
    const { status, headers } = await gateway.own('/')
    return [status, headers['x-prepaint-gateway']]
  }

  it('garbage instead of HTTP is a broken response; its own 502 has no mark', async () => {
    answer = (request) => void request.socket.end('SSH-2.0-OpenSSH\r\n')
    assert.deepEqual(await fault(), [502, 'broken-response'])
    answer = (_request, response) => response.writeHead(502).end('mine')
    assert.deepEqual(await fault(), [502, undefined])
  })

  it('half a response is broken off, not ended', async () => {
    answer = (request, response) => void response.write('half', () => request.socket.destroy())
    await assert.rejects(gateway.own('/'), { code: 'ERR_HTTP2_STREAM_ERROR' })
    const socket = await gateway.openOwn('http/1.1')
    socket.write(`GET / HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\n\r\n`)
    // Without the last chunk.
    assert.match(await readAll(socket), /\r\n\r\n4\r\nhalf\r\n$/)
  })
})

describe('with a name as origin', () => {
  const get = (url: string, host = new URL(url).host) =>
    named.raw(
      `GET ${url} HTTP/1.1\r\nHost: ${host}\r\nProxy-Connection: keep-alive\r\nConnection: close\r\n\r\n`,
    )

  it("the owner's headers go with every request for the custom domain, in place of the page's", async () => {
    const { body } = await named.own('/a', { 'x-secret': 'of-the-page' })
    assert.equal(JSON.parse(body).headers['x-secret'], 'canary')
    assert.match(await get(`http://${CUSTOM_DOMAIN}/x`), /"x-secret":"canary"/)
    const upgraded = once(named.origin, 'upgrade')
    const socket = await named.openOwn('http/1.1')
    socket.write(`${UPGRADE}\r\n`)
    const [{ headers }] = (await upgraded) as [http.IncomingMessage]
    assert.equal(headers['x-secret'], 'canary')
  })

  it('and with none for another host, not even at the same address', async () => {
    for (const host of ['origin.example', '127.0.0.1']) {
      const target = `${host}:${named.originPort}`
      assert.doesNotMatch(await get(`http://${target}/x`), /canary/)
      const { status, socket } = await named.connect(target)
      if (status !== 200) continue
      socket.write(`GET / HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\n\r\n`)
      assert.doesNotMatch(await readAll(socket), /canary/)
    }
  })
})

it('a tunnel is read as fast as the page takes it, and ends when the page goes away', async () => {
  const { connect, originPort, origin } = gateway
  let written = () => 0
  answer = (_request, response) => {
    written = pour(response)
  }
  const { socket: slow } = await connect(`127.0.0.1:${originPort}`)
  slow.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  assert((await standsAt(() => written())) < 100)
  assert.equal(gateway.site.excess(), null, 'it was broken off')
  slow.destroy()
  const connected = once(origin, 'connection')
  const { socket: left } = await connect(`127.0.0.1:${originPort}`)
  const [far] = await connected
  left.destroy()
  await once(far, 'close')
})

it('closes with everything that is open', async (t) => {
  const tested = await startTestGateway(t, { origin: () => {} })
  const session = await tested.openSession()
  session.request({ ':path': '/' }).on('error', () => {})
  const { socket } = await tested.connect(`127.0.0.1:${tested.originPort}`)
  const closed = [session, socket, await tested.rawConnection()].map((one) => once(one, 'close'))
  await tested.gateway.close()
  await Promise.all(closed)
  await tested.site.close()
  await assert.rejects(tested.rawConnection(), { code: 'ECONNREFUSED' })
})

// Limits, at the limit and one past it. Those that a page meets are in packages/engine/src/render/limits.test.ts.

it('bytes of a response that comes through a tunnel', async (t) => {
  const { connect, originPort, site } = await startTestGateway(t, {
    origin: (_request, response) => response.end('x'.repeat(1_000_000)),
    limits: { responseBytes: 100_000 },
  })
  const { socket } = await connect(`127.0.0.1:${originPort}`)
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  assert((await readAll(socket)).length <= 100_000)
  assert.equal(site.excess(), 'response-bytes')
})

it('requests of a page: whole, tunnelled and own ones count alike', async (t) => {
  const { own, raw, connect, site, originPort } = await startTestGateway(t, {
    limits: { requestsPerPage: 3 },
  })
  const whole = (host: string) => raw(`GET http://${host}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
  for (const status of [200, 403]) {
    assert.equal((await own('/')).status, status)
    assert.match(await whole(`127.0.0.1:${originPort}`), new RegExp(` ${status} `))
    assert.equal((await connect(`127.0.0.1:${originPort}`)).status, status)
  }
  assert.match(await whole(CUSTOM_DOMAIN), / 403 /)
  assert.equal(site.excess(), 'requests')
  site.endPage()
  assert.equal((await own('/')).status, 200)
})

it('headers of a request: 400 past the limit, and the origin hears nothing', async (t) => {
  const { raw, originPort, origin } = await startTestGateway(t, { limits: { headerBytes: 4_000 } })
  let heard = 0
  origin.on('request', () => heard++)
  const head = `GET http://127.0.0.1:${originPort}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: `
  const send = (length: number) => raw(`${head}${'x'.repeat(length)}\r\n\r\n`)
  assert.match(await send(3_000), / 200 /)
  assert.match(await send(4_000), / 400 /)
  assert.equal(heard, 1)
})

it('connections of a context beyond its limit are closed', async (t) => {
  const { rawConnection } = await startTestGateway(t, { limits: { connectionsPerSite: 2 } })
  const [first, second] = [await rawConnection(), await rawConnection()]
  const third = await rawConnection()
  third.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  assert.equal(await readAll(third), '')
  assert.deepEqual([first.destroyed, second.destroyed], [false, false])
})

it('a tunnel that is silent for the idle timeout ends', async (t) => {
  const { connect, originPort } = await startTestGateway(t, { limits: { idleTimeoutMs: 50 } })
  const { socket } = await connect(`127.0.0.1:${originPort}`)
  await once(socket, 'close')
})

it('a page gets 504 if the name server does not answer', async (t) => {
  const { own, connect } = await startTestGateway(t, {
    originHost: 'slow.example',
    lookup: () => new Promise(() => {}),
    limits: { connectTimeoutMs: 50 },
  })
  assert.equal((await own('/')).status, 504)
  assert.equal((await connect('other.example:443')).status, 504)
})
