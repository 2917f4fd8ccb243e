import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type http from 'node:http'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { setTimeout as stalledFor } from 'node:timers/promises'

import { until } from '../../test/support/condition.ts'
import { ask, CUSTOM_DOMAIN, readAll, readHead, startTestGateway } from '../../test/support/gateway.ts'

/** Answers with what it was asked. */
const echo: http.RequestListener = async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const { method, url, headers } = request
  response.end(JSON.stringify({ method, url, headers, body }))
}

describe('the custom domain', () => {
  it('is fetched from its origin, with the Host of the origin and the forwarding headers', async (t) => {
    const { own, originPort } = await startTestGateway(t, { origin: echo })
    const { status, body } = await own('/a/../b?x=%2F&y', {
      cookie: 'a=1',
      'accept-encoding': 'br',
      via: '1.1 page',
    })
    const asked = JSON.parse(body)
    assert.equal(status, 200)
    assert.equal(asked.url, '/a/../b?x=%2F&y')
    assert.equal(asked.headers.host, `127.0.0.1:${originPort}`)
    assert.equal(asked.headers['x-forwarded-host'], CUSTOM_DOMAIN)
    assert.equal(asked.headers['x-forwarded-proto'], 'https')
    assert.equal(asked.headers.via, '1.1 prepaint')
    assert.equal(asked.headers.cookie, 'a=1')
    assert.equal(asked.headers['accept-encoding'], 'br')
  })

  it('shows the certificate whose hash Chromium is told', async (t) => {
    const { openOwn, gateway } = await startTestGateway(t)
    const socket = await openOwn('h2')
    const key = socket.getPeerX509Certificate()!.publicKey.export({ type: 'spki', format: 'der' })
    assert.equal(createHash('sha256').update(key).digest('base64'), gateway.spkiHash)
    assert.equal(socket.alpnProtocol, 'h2')
  })

  it('speaks HTTP/1.1 too, for one request after another', async (t) => {
    const { openOwn } = await startTestGateway(t, { origin: echo })
    const socket = await openOwn('http/1.1')
    for (const path of ['/1', '/2']) {
      socket.write(`HEAD ${path} HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\n\r\n`)
      assert.match(await readHead(socket), /^HTTP\/1.1 200/)
    }
  })

  it('is fetched over plain http: as well', async (t) => {
    const { raw } = await startTestGateway(t, { origin: echo })
    const answer = await raw(
      `GET http://${CUSTOM_DOMAIN}/x HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n`,
    )
    assert.match(answer, /^HTTP\/1.1 200/)
    assert.match(answer, /"x-forwarded-proto":"http"/)
    assert.match(answer, /"url":"\/x"/)
  })

  it('gets bodies of every kind, framed for good', async (t) => {
    const { openSession } = await startTestGateway(t, { origin: echo })
    const session = await openSession()
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const { body } = await ask(
        session,
        { ':method': method, ':path': '/' },
        'GET /smuggled HTTP/1.1\r\n\r\n',
      )
      const asked = JSON.parse(body)
      assert.deepEqual([asked.method, asked.body], [method, 'GET /smuggled HTTP/1.1\r\n\r\n'])
      assert.equal(asked.headers['transfer-encoding'], 'chunked')
    }
    const { body } = await ask(session, { ':method': 'POST', ':path': '/', 'content-length': '2' }, 'ok')
    assert.equal(JSON.parse(body).headers['content-length'], '2')
    assert.equal(JSON.parse(body).body, 'ok')
  })

  it('keeps connections to the origin, also after answers without a body', async (t) => {
    const { openSession, origin } = await startTestGateway(t, {
      limits: { socketsPerOrigin: 1 },
      origin: (request, response) => response.writeHead(Number(request.url?.slice(1))).end(),
    })
    let connections = 0
    origin.on('connection', () => {
      connections += 1
    })
    const session = await openSession()
    for (const status of [200, 304, 204, 404, 304, 204, 200]) {
      assert.equal((await ask(session, { ':path': `/${status}` })).status, status)
    }
    assert.equal(connections, 1)
  })

  it('asks again when the origin has closed the kept connection meanwhile', async (t) => {
    const used = new Set<unknown>()
    const { openSession } = await startTestGateway(t, {
      limits: { socketsPerOrigin: 1 },
      origin: (request, response) => {
        // To us it looks as if it had been closed just before: no answer, a reset.
        if (used.has(request.socket)) request.socket.resetAndDestroy()
        else response.end('ok')
        used.add(request.socket)
      },
    })
    const session = await openSession()
    for (const method of ['GET', 'GET', 'OPTIONS']) {
      assert.equal((await ask(session, { ':path': '/', ':method': method })).status, 200)
    }
    assert.equal(used.size, 3)
  })

  it('has a connection of its own for what may not be sent twice', async (t) => {
    const used = new Set<unknown>()
    const asked: string[] = []
    const { openSession } = await startTestGateway(t, {
      origin: (request, response) => {
        asked.push(`${request.method} ${request.url}`)
        if (used.has(request.socket) || request.url === '/reset') request.socket.resetAndDestroy()
        else echo(request, response)
        used.add(request.socket)
      },
    })
    const session = await openSession()
    assert.equal((await ask(session, { ':path': '/' })).status, 200)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status, body } = await ask(session, { ':path': '/', ':method': method }, 'x')
      assert.deepEqual([status, JSON.parse(body).body], [200, 'x'], method)
    }
    assert.equal((await ask(session, { ':path': '/', ':method': 'DELETE' })).status, 200)
    const { status, headers } = await ask(session, { ':path': '/reset', ':method': 'POST' }, 'once')
    assert.deepEqual([status, headers['x-prepaint-gateway']], [502, 'broken-response'])
    assert.equal(asked.filter((line) => line === 'POST /reset').length, 1)
  })

  it('leaves bodies and their encoding as they are', async (t) => {
    const bytes = Buffer.from([0x1f, 0x8b, 0, 255, 254])
    const { openSession } = await startTestGateway(t, {
      origin: (_request, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'text/html' }).end(bytes)
      },
    })
    const stream = (await openSession()).request({ ':path': '/' })
    const chunks = await stream.toArray()
    assert.deepEqual(Buffer.concat(chunks), bytes)
  })

  it('streams: the first bytes arrive before the last are written', async (t) => {
    const { openSession, origin } = await startTestGateway(t, { origin: () => {} })
    const asked = once(origin, 'request')
    const stream = (await openSession()).request({ ':path': '/' })
    const [, response] = (await asked) as [http.IncomingMessage, http.ServerResponse]
    response.write('first')
    assert.equal(String((await once(stream, 'data'))[0]), 'first')
    response.end('last')
    assert.equal(String((await once(stream, 'data'))[0]), 'last')
  })

  it('is read only as fast as the page takes it', async (t) => {
    const chunk = Buffer.alloc(64 * 1024)
    const wholeBytes = 500 * chunk.length
    const { openSession, site } = await startTestGateway(t, {
      origin: (_request, response) => {
        Readable.from(Array.from({ length: 500 }, () => chunk)).pipe(response)
      },
    })
    const stream = (await openSession()).request({ ':path': '/' })
    await once(stream, 'response')
    let receivedBytes = 0
    for (let sinceBytes = -1; receivedBytes !== sinceBytes; ) {
      sinceBytes = receivedBytes
      await stalledFor(50)
      receivedBytes += site.takeCounts().bytes
    }
    assert(receivedBytes < wholeBytes / 2, `${receivedBytes} bytes were read for a page that took none`)
    let taken = 0
    for await (const bytes of stream) taken += bytes.length
    assert.equal(taken, wholeBytes)
  })

  it('is not stopped by 100 requests that never end', async (t) => {
    const { openSession } = await startTestGateway(t, {
      limits: { socketsPerOrigin: 128 },
      origin: (request, response) => {
        response.flushHeaders()
        if (request.url === '/data') response.end('data')
      },
    })
    const session = await openSession()
    const hung = Array.from({ length: 100 }, () => session.request({ ':path': '/hung' }))
    await Promise.all(hung.map((stream) => once(stream, 'response')))
    assert.equal((await ask(session, { ':path': '/data' })).body, 'data')
  })

  it('ends the request upstream when the page goes away', async (t) => {
    const { openSession, origin } = await startTestGateway(t, { origin: () => {} })
    const asked = once(origin, 'request')
    const session = await openSession()
    const stream = session.request({ ':path': '/' })
    stream.on('error', () => {})
    const [, response] = (await asked) as [http.IncomingMessage, http.ServerResponse]
    stream.close()
    await once(response, 'close')
    assert.equal(response.writableFinished, false)
  })

  it('and does not send it again, as it does when a kept connection has broken', async (t) => {
    const asked: string[] = []
    const held: http.ServerResponse[] = []
    const { openSession } = await startTestGateway(t, {
      limits: { socketsPerOrigin: 1 },
      origin: ({ url = '' }, response) => {
        asked.push(url)
        if (url === '/held') held.push(response)
        else response.end()
      },
    })
    const session = await openSession()
    await ask(session, { ':path': '/before' })
    const stream = session.request({ ':path': '/held' })
    await until('it is at the origin', () => held.length === 1)
    const ended = once(held[0]!, 'close')
    stream.close()
    await ended
    // It has the connection that would be used to send it again before this one.
    await ask(session, { ':path': '/after' })
    assert.deepEqual(asked, ['/before', '/held', '/after'])
  })

  it('shows its own name instead of the origin’s', async (t) => {
    const { own, originPort } = await startTestGateway(t, {
      origin: (request, response) => {
        response.writeHead(302, {
          location: `http://${request.headers.host}/next?x=1#y`,
          'set-cookie': ['a=1; Domain=127.0.0.1; Path=/', 'b=2'],
          'alt-svc': 'h3=":443"',
          'x-prepaint-gateway': 'forged',
          connection: 'x-hop',
          'x-hop': '1',
          'x-kept': '1',
        })
        response.end()
      },
    })
    const { status, headers } = await own('/')
    assert.equal(status, 302)
    assert.equal(headers.location, `https://${CUSTOM_DOMAIN}/next?x=1#y`)
    assert.deepEqual(headers['set-cookie'], [`a=1; Domain=${CUSTOM_DOMAIN}; Path=/`, 'b=2'])
    assert.equal(headers['x-kept'], '1')
    for (const name of ['alt-svc', 'x-prepaint-gateway', 'x-hop', 'connection'])
      assert.equal(headers[name], undefined)
    assert.doesNotMatch(JSON.stringify(headers), new RegExp(`127.0.0.1|${originPort}`))
  })

  it('upgrades to a WebSocket', async (t) => {
    const { openOwn, connect, origin, originPort } = await startTestGateway(t)
    origin.on('upgrade', (request: http.IncomingMessage, socket) => {
      const { host, upgrade, 'x-forwarded-host': forwarded } = request.headers
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`)
      socket.write(`Sec-WebSocket-Accept: ${request.headers['sec-websocket-key']}\r\n\r\n`)
      socket.write(`${host} ${upgrade} ${forwarded}\n`)
      socket.pipe(socket)
    })
    const ask = `GET /ws HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: abc\r\n\r\n`
    for (const socket of [await openOwn('http/1.1'), (await connect(`${CUSTOM_DOMAIN}:80`)).socket]) {
      socket.write(ask)
      const head = await readHead(socket)
      assert.match(head, /^HTTP\/1.1 101 /)
      assert.match(head, /sec-websocket-accept: abc\r\n/i)
      socket.write('ping')
      const heard: string[] = []
      socket.on('data', (chunk: Buffer) => heard.push(String(chunk)))
      while (!heard.join('').endsWith('ping')) await once(socket, 'data')
      assert.equal(heard.join(''), `127.0.0.1:${originPort} websocket ${CUSTOM_DOMAIN}\nping`)
      socket.destroy()
    }
  })

  it('passes on that the origin does not upgrade', async (t) => {
    const { openOwn } = await startTestGateway(t, {
      origin: (_request, response) => response.writeHead(404).end('no'),
    })
    const socket = await openOwn('http/1.1')
    socket.write(
      `GET / HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    assert.match(await readAll(socket), /^HTTP\/1.1 404 /)
  })
})

describe('faults of the origin are told from its answers', () => {
  it('its own 502 has no mark', async (t) => {
    const { own } = await startTestGateway(t, {
      origin: (_request, response) => response.writeHead(502).end('mine'),
    })
    const { status, headers, body } = await own('/')
    assert.deepEqual([status, headers['x-prepaint-gateway'], body], [502, undefined, 'mine'])
  })

  it('a closed port is unreachable', async (t) => {
    const { own, origin, site } = await startTestGateway(t)
    origin.close()
    await once(origin, 'close')
    const { status, headers } = await own('/')
    assert.deepEqual([status, headers['x-prepaint-gateway']], [502, 'unreachable'])
    assert.deepEqual(site.takeCounts().unconnected, { unreachable: 1 })
  })

  it('a name without an address is unresolvable', async (t) => {
    const { own } = await startTestGateway(t, { originHost: 'nobody.example', lookup: async () => [] })
    const { status, headers } = await own('/')
    assert.deepEqual([status, headers['x-prepaint-gateway']], [502, 'unresolvable'])
  })

  it('garbage instead of HTTP is a broken response', async (t) => {
    const { own, origin } = await startTestGateway(t)
    origin.prependListener('connection', (socket) => socket.end('SSH-2.0-OpenSSH\r\n'))
    const { status, headers } = await own('/')
    assert.deepEqual([status, headers['x-prepaint-gateway']], [502, 'broken-response'])
  })

  for (const headers of [{ 'content-length': '10' }, { 'transfer-encoding': 'chunked' }]) {
    it(`half a response is broken off, not ended: ${Object.keys(headers)}`, async (t) => {
      const { own, openOwn } = await startTestGateway(t, {
        origin: (request, response) => {
          response.writeHead(200, headers).write('half', () => request.socket.destroy())
        },
      })
      await assert.rejects(own('/'), { code: 'ERR_HTTP2_STREAM_ERROR' })
      const socket = await openOwn('http/1.1')
      socket.write(`GET / HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\n\r\n`)
      // Without the last chunk, or short of its length.
      assert.match(await readAll(socket), /\r\n\r\n(?:4\r\nhalf\r\n|half)$/)
    })
  }
})

describe("the owner's headers for the origin", () => {
  const guarded = {
    origin: echo,
    originHost: 'origin.example',
    lookup: async () => ['127.0.0.1'],
    originHeaders: ['X-Secret', 'canary'],
  }

  it('go with every request for the custom domain, in place of what the page sends', async (t) => {
    const { own, raw, openOwn, origin } = await startTestGateway(t, guarded)
    const { body } = await own('/a', { 'x-secret': 'of-the-page' })
    assert.equal(JSON.parse(body).headers['x-secret'], 'canary')
    const plain = `GET http://${CUSTOM_DOMAIN}/x HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\nConnection: close\r\n\r\n`
    assert.match(await raw(plain), /"x-secret":"canary"/)
    const upgraded = once(origin, 'upgrade')
    const socket = await openOwn('http/1.1')
    socket.write(
      `GET /ws HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    const [{ headers }] = (await upgraded) as [http.IncomingMessage]
    assert.equal(headers['x-secret'], 'canary')
  })

  it('and with none for another host, not even at the same address', async (t) => {
    const { raw, connect, originPort } = await startTestGateway(t, guarded)
    for (const host of ['origin.example', '127.0.0.1']) {
      const target = `${host}:${originPort}`
      const plain = `GET http://${target}/x HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\n\r\n`
      assert.doesNotMatch(await raw(plain), /canary/)
      const { status, socket } = await connect(target)
      if (status !== 200) continue
      socket.write(`GET / HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\n\r\n`)
      assert.doesNotMatch(await readAll(socket), /canary/)
    }
  })
})

describe('other hosts', () => {
  it('get whole requests of plain http, with their own Host and nothing of ours', async (t) => {
    const { raw, originPort } = await startTestGateway(t, {
      origin: echo,
      originHost: 'origin.example',
      lookup: async () => ['127.0.0.1'],
    })
    const answer = await raw(
      `GET http://origin.example:${originPort}/x HTTP/1.1\r\nHost: smuggled.example\r\nProxy-Authorization: x\r\nConnection: close\r\n\r\n`,
    )
    assert.match(answer, /^HTTP\/1.1 200/)
    const asked = JSON.parse(answer.slice(answer.indexOf('{')))
    assert.equal(asked.headers.host, `origin.example:${originPort}`)
    assert.deepEqual(Object.keys(asked.headers).sort(), ['connection', 'host'])
  })

  it('get a tunnel, and its last bytes arrive', async (t) => {
    const big = 'x'.repeat(3_000_000)
    const { connect, originPort } = await startTestGateway(t, {
      origin: (_request, response) =>
        response.writeHead(200, { connection: 'close', 'content-length': big.length }).end(big),
    })
    const { status, socket } = await connect(`127.0.0.1:${originPort}`)
    assert.equal(status, 200)
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const answer = await readAll(socket)
    assert.equal(answer.length - answer.indexOf('\r\n\r\n') - 4, big.length)
  })

  it('have a tunnel that ends when the page goes away', async (t) => {
    const { connect, originPort, origin } = await startTestGateway(t)
    const connected = once(origin, 'connection')
    const { socket } = await connect(`127.0.0.1:${originPort}`)
    const [far] = await connected
    socket.destroy()
    await once(far, 'close')
  })
})

it('counts what went through, and begins anew when asked', async (t) => {
  const { own, site } = await startTestGateway(t)
  await own('/1')
  await own('/2')
  assert.deepEqual(site.takeCounts(), { requests: 2, bytes: 12, refused: 0, refusals: [], unconnected: {} })
  assert.equal(site.takeCounts().requests, 0)
})

it('closes with everything that is open', async (t) => {
  const { openSession, gateway, site, connect, originPort, rawConnection } = await startTestGateway(t, {
    origin: () => {},
  })
  const session = await openSession()
  session.request({ ':path': '/' }).on('error', () => {})
  const { socket } = await connect(`127.0.0.1:${originPort}`)
  const idle = await rawConnection()
  const closed = [session, socket, idle].map((one) => once(one, 'close'))
  await gateway.close()
  await Promise.all(closed)
  await site.close()
  await assert.rejects(rawConnection(), { code: 'ECONNREFUSED' })
})
