import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { describe, it } from 'node:test'

import type { Deadline } from './closing-stack.ts'
import { drainable } from './closing-stack.ts'

const FAR_OFF: Deadline = { signal: new AbortController().signal, remainingMs: () => 60_000 }

async function startServer(handle: http.RequestListener) {
  const server = http.createServer({ keepAliveTimeout: 60_000 }, handle)
  const { drain } = drainable(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { server, drain, port, url: `http://127.0.0.1:${port}` }
}

describe('draining a server', () => {
  it('lets an answer finish, and then does not wait for its kept-alive connection', async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<http.ServerResponse>()
    const { drain, url } = await startServer((_req, res) => begin(res))
    const agent = new http.Agent({ keepAlive: true })
    const answered = new Promise<number | undefined>((resolve, reject) => {
      http.get(url, { agent }, (answer) => resolve(answer.resume().statusCode)).once('error', reject)
    })
    const res = await begun
    const drained = drain(FAR_OFF)
    await assert.rejects(fetch(url), 'no new connection is taken')
    res.end('done')
    assert.equal(await answered, 200)
    await drained
    agent.destroy()
  })

  it('does not wait for a connection that never asked for anything', async () => {
    const { server, drain, port } = await startServer(() => {})
    const taken = once(server, 'connection')
    const client = net.connect(port, '127.0.0.1')
    client.on('error', () => {})
    const closed = new Promise((resolve) => client.once('close', resolve))
    await taken
    await Promise.all([drain(FAR_OFF), closed])
  })

  it('waits until a slow client has taken all of an answer that was given whole', async (t) => {
    const body = Buffer.alloc(16 * 1024 * 1024)
    const { server, drain, port } = await startServer((_req, res) => res.end(body))
    const [slow, unused] = [net.connect(port, '127.0.0.1'), net.connect(port, '127.0.0.1')]
    for (const client of [slow, unused]) {
      t.after(() => void client.destroy())
      client.on('error', () => {})
    }
    await once(unused, 'connect')
    const asked = once(server, 'request')
    slow.pause().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await asked
    const drained = drain(FAR_OFF)
    await once(unused.resume(), 'close')
    let got = 0
    for await (const part of slow as AsyncIterable<Buffer>) got += part.length
    assert(got > body.length, `${got} bytes`)
    await drained
  })

  it('cuts what is left at the deadline, upgraded connections too', async () => {
    const { server, drain, port } = await startServer(() => {})
    server.on('upgrade', (_req, socket) => {
      socket.on('error', () => {})
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    })
    const client = net.connect(port, '127.0.0.1')
    client.write('GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    await new Promise((resolve) => client.once('data', resolve))
    const closed = new Promise((resolve) => client.once('close', resolve))
    client.on('error', () => {})

    const deadline = new AbortController()
    let over = false
    const drained = drain({ ...FAR_OFF, signal: deadline.signal }).then(() => {
      over = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(over, false, 'it waits for as long as it may')
    deadline.abort()
    await Promise.all([drained, closed])
  })

  it('has nothing to do for a server that never listened', async () => {
    await drainable(http.createServer()).drain(FAR_OFF)
  })
})
