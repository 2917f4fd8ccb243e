/** What one client address may hold of the API at a time. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, it } from 'node:test'
import { startTestApi, type TestApi } from '../../../test/support/api.ts'
import { until } from '../../../test/support/condition.ts'
import { NO_CLIENT_LIMITS } from '../../http/client-limits.ts'

let api: TestApi
const sockets: net.Socket[] = []
before(async () => {
  api = await startTestApi({
    clients: { ...NO_CLIENT_LIMITS, connections: 3, requests: 2, unlimited: [], failures: 100 },
  })
})
after(async () => {
  for (const socket of sockets) socket.destroy()
  await api.close()
})

/** A connection from one of the addresses of loopback. */
async function connect(localAddress: string) {
  const socket = net.connect({ port: Number(new URL(api.url).port), host: '127.0.0.1', localAddress })
  sockets.push(socket)
  socket.on('error', () => {})
  let text = ''
  socket.on('data', (part) => {
    text += part
  })
  await once(socket, 'connect')
  const said = async (pattern: RegExp) => {
    await until(`it says ${pattern}`, () => pattern.test(text) || socket.destroyed)
    return text
  }
  return { socket, said }
}

// Proves decided "Client limits"
it('requests: at the limit answered, one past it 429 in JSON', async () => {
  const answering = Promise.withResolvers<void>()
  api.readiness.held = answering.promise
  const ask = 'GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n'
  const { socket, said } = await connect('127.0.0.2')
  socket.write(ask)
  const second = await connect('127.0.0.2')
  second.socket.write(ask)
  // Both are under way, and stay so.
  await until('both are asked for', () => api.readiness.asked === 2)
  const third = await connect('127.0.0.2')
  third.socket.write(ask)
  const refused = await third.said(/\}$/)
  assert.match(refused, /^HTTP\/1\.1 429 Too Many Requests\r\n/)
  assert.match(refused, /^Retry-After: 1\r$/im)
  assert.match(refused, /\{"error":"Too many requests at once from your address"\}$/)
  assert.equal((await api.get('/healthz')).status, 200)
  answering.resolve()
  assert.match(await said(/\}$/), /^HTTP\/1\.1 200 /)
  assert.match(await second.said(/\}$/), /^HTTP\/1\.1 200 /)
})

// Proves decided "Client limits"
it('connections: one past the limit is told 429 in JSON', async () => {
  for (let at = 0; at < 3; at++) await connect('127.0.0.3')
  const { socket, said } = await connect('127.0.0.3')
  await once(socket, 'close')
  const refused = await said(/\}$/)
  assert.match(refused, /^HTTP\/1\.1 429 Too Many Requests\r\n/)
  assert.match(refused, /\{"error":"Too many connections from your address"\}$/)
  assert.equal((await api.get('/healthz')).status, 200)
})
