/** Limits of the gateway, at the limit and one past it. Those that a page meets are in src/render/limits.test.ts. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'

import { CUSTOM_DOMAIN, readAll, startTestGateway } from '../../test/support/gateway.ts'

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

it('a context has so many connections and no more', async (t) => {
  const { rawConnection } = await startTestGateway(t, { limits: { connectionsPerSite: 2 } })
  const [first, second] = [await rawConnection(), await rawConnection()]
  const third = await rawConnection()
  third.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  assert.equal(await readAll(third), '')
  assert.deepEqual([first.destroyed, second.destroyed], [false, false])
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
