/** Every limit of the gateway, at the limit and one past it, and what the counts says of it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http from 'node:http'
import { describe, it } from 'node:test'

import { CUSTOM_DOMAIN, readAll, startTestGateway } from '../../test/support/gateway.ts'

/** `/100` answers 100 bytes; `/100?chunked` without saying so before. */
const bytes: http.RequestListener = (request, response) => {
  const [, count = '0', chunked] = /^\/(\d+)(\?chunked)?/.exec(request.url ?? '') ?? []
  if (chunked === undefined) response.setHeader('content-length', count)
  response.write('x'.repeat(Number(count)))
  response.end()
}

it('bytes of a response that comes through a tunnel', async (t) => {
  const limits = { responseBytes: 100_000 }
  const { connect, originPort, site } = await startTestGateway(t, { origin: bytes, limits })
  const { socket } = await connect(`127.0.0.1:${originPort}`)
  socket.write('GET /1000000 HTTP/1.1\r\nHost: a\r\n\r\n')
  assert((await readAll(socket)).length <= 100_000)
  assert.equal(site.excess(), 'response-bytes')
})

it('a page whose responses together are too large gets nothing more; the next page begins anew', async (t) => {
  const { own, site } = await startTestGateway(t, { origin: bytes, limits: { pageBytes: 200 } })
  assert.equal((await own('/100')).body.length, 100)
  assert.equal((await own('/100')).body.length, 100)
  await assert.rejects(own('/1'))
  assert.equal((await own('/0')).status, 403)
  assert.equal(site.excess(), 'page-bytes')
  site.endPage()
  assert.equal((await own('/100')).status, 200)
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

describe('headers', () => {
  it('of a response: 502 past the limit', async (t) => {
    const { own } = await startTestGateway(t, {
      limits: { headerBytes: 4_000 },
      origin: (request, response) => {
        response.setHeader('x-long', 'x'.repeat(Number(request.url?.slice(1))))
        response.end('ok')
      },
    })
    assert.equal((await own('/3000')).status, 200)
    const { status, headers } = await own('/4000')
    assert.deepEqual([status, headers['x-prepaint-gateway']], [502, 'headers-too-large'])
  })

  it('of a request: 400 past the limit, and the origin hears nothing', async (t) => {
    const { raw, originPort, origin } = await startTestGateway(t, { limits: { headerBytes: 4_000 } })
    let heard = 0
    origin.on('request', () => heard++)
    const head = `GET http://127.0.0.1:${originPort}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: `
    const send = (length: number) => raw(`${head}${'x'.repeat(length)}\r\n\r\n`)
    assert.match(await send(3_000), / 200 /)
    assert.match(await send(4_000), / 400 /)
    assert.equal(heard, 1)
  })
})

describe('connections and time', () => {
  it('a context has so many connections and no more', async (t) => {
    const { rawConnection } = await startTestGateway(t, { limits: { connectionsPerSite: 2 } })
    const [first, second] = [await rawConnection(), await rawConnection()]
    const third = await rawConnection()
    await once(third, 'close')
    assert.deepEqual([first.destroyed, second.destroyed], [false, false])
  })

  it('an origin that does not begin to answer: 504', async (t) => {
    const { own } = await startTestGateway(t, { origin: () => {}, limits: { firstByteTimeoutMs: 50 } })
    const { status, headers } = await own('/')
    assert.deepEqual([status, headers['x-prepaint-gateway']], [504, 'timed-out'])
  })

  it('a tunnel that falls silent ends', async (t) => {
    const { connect, originPort } = await startTestGateway(t, { limits: { idleTimeoutMs: 50 } })
    const { socket } = await connect(`127.0.0.1:${originPort}`)
    await once(socket, 'close')
  })

  it('a name server that does not answer: 504', async (t) => {
    const { own, connect } = await startTestGateway(t, {
      originHost: 'slow.example',
      lookup: () => new Promise(() => {}),
      limits: { connectTimeoutMs: 50 },
    })
    assert.equal((await own('/')).status, 504)
    assert.equal((await connect('other.example:443')).status, 504)
  })
})
