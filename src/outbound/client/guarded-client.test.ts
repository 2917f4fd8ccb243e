import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { describe, it, type TestContext } from 'node:test'

import ipaddr from 'ipaddr.js'
import { createSelfSigned } from '../../gateway/tls-key.ts'
import { createAddressGuard } from '../address-guard.ts'
import { connectFault } from '../guarded-connect.ts'
import type { Lookup } from '../lookup.ts'
import type { Origin } from '../origin.ts'
import { createClient } from './pool.ts'
import { sendRequest } from './request.ts'

const { privateKey, certificate } = createSelfSigned('origin.example')
const key = privateKey.export({ type: 'pkcs8', format: 'pem' })

for (const scheme of ['http', 'https'] as const) {
  describe(`the client by ${scheme}`, () => {
    it('connects to permitted addresses, by name and by address', async (t) => {
      const { get } = await start(t, scheme)
      assert.equal(await get('origin.example'), '127.0.0.1 origin.example')
      if (scheme === 'http') assert.equal(await get('127.0.0.1'), '127.0.0.1 127.0.0.1')
    })

    it('keeps its connections, and resolves once for each', async (t) => {
      let asked = 0
      const lookup: Lookup = async () => {
        asked += 1
        return ['127.0.0.1']
      }
      const { get, server } = await start(t, scheme, { lookup })
      for (let n = 0; n < 5; n += 1) await get('origin.example')
      assert.deepEqual([asked, server.accepted], [1, 1])
    })

    it('keeps none when it is closed, not for requests that waited for one either', async (t) => {
      const { client, get, server } = await start(t, scheme, { agent: { perOrigin: 1 } })
      server.removeAllListeners('request')
      const asked = once(server, 'request')
      const all = [1, 2, 3].map(() => get('origin.example'))
      const ended = Promise.allSettled(all)
      await asked
      assert.deepEqual([client.open, client.waiting], [1, 2])
      client.close()
      assert.deepEqual([...new Set((await ended).map(({ status }) => status))], ['rejected'])
      assert.deepEqual([client.open, client.waiting], [0, 0])
      await assert.rejects(get('origin.example'))
      assert.equal(server.accepted, 1)
    })

    it('refuses what the guard refuses', async (t) => {
      const { get, canary } = await start(t, scheme)
      for (const host of [
        '127.0.0.2',
        '127.2',
        '::ffff:127.0.0.2',
        'canary.example',
        'mapped.example',
        '127.0.0.2.',
      ]) {
        await assert.rejects(get(host), (error) => connectFault(error) === 'refused-address', host)
      }
      assert.equal(canary.accepted, 0)
    })

    it('takes the permitted address of several', async (t) => {
      const { get, canary } = await start(t, scheme, {
        lookup: async () => ['127.0.0.2', '10.0.0.1', '127.0.0.1'],
      })
      assert.equal(await get('origin.example'), '127.0.0.1 origin.example')
      assert.equal(canary.accepted, 0)
    })

    it('goes on to the next address where the first refuses the connection', async (t) => {
      const { get } = await start(t, scheme, {
        lookup: async () => ['127.0.0.3', '127.0.0.1'],
        allowed: ['127.0.0.1/32', '127.0.0.3/32'],
      })
      assert.equal(await get('origin.example'), '127.0.0.1 origin.example')
    })

    it('checks each new connection: rebinding gets nowhere', async (t) => {
      const turns = [['127.0.0.1'], ['127.0.0.2']]
      const { get, canary } = await start(t, scheme, {
        lookup: async () => turns.shift() ?? [],
      })
      assert.equal(await get('origin.example', { connection: 'close' }), '127.0.0.1 origin.example')
      await assert.rejects(get('origin.example'), (error) => connectFault(error) === 'refused-address')
      assert.equal(canary.accepted, 0)
    })

    it('tells the faults apart', async (t) => {
      const { get, server } = await start(t, scheme, { agent: { connectTimeoutMs: 200 } })
      await assert.rejects(get('nobody.example'), (error) => connectFault(error) === 'unresolvable')
      await assert.rejects(get('slow.example'), (error) => connectFault(error) === 'timed-out')
      server.close()
      await once(server, 'close')
      await assert.rejects(get('origin.example'), (error) => connectFault(error) === 'unreachable')
    })

    it('does not call it a fault of the connection when there was one', async (t) => {
      const { get, server } = await start(t, scheme)
      server.removeAllListeners('request')
      server.on('request', (request: http.IncomingMessage) => request.socket.destroy())
      await assert.rejects(get('origin.example'), (error) => connectFault(error) === null)
    })

    it('holds its caps while connections are being made', async (t) => {
      let waiting = 0
      const answers: (() => void)[] = []
      const lookup: Lookup = () => {
        waiting += 1
        return new Promise((resolve) => answers.push(() => resolve(['127.0.0.1'])))
      }
      const { get, server } = await start(t, scheme, { lookup, agent: { perOrigin: 3 } })
      const all = Array.from({ length: 9 }, () => get('origin.example'))
      assert.equal(waiting, 3)
      for (const answer of answers) answer()
      assert.equal((await Promise.all(all)).length, 9)
      assert.equal(server.accepted, 3)
    })

    it('serves what waited although the connections before it failed', async (t) => {
      const { get } = await start(t, scheme, { agent: { perOrigin: 1 } })
      const [first, second] = [get('canary.example'), get('canary.example')]
      await assert.rejects(first, (error) => connectFault(error) === 'refused-address')
      await assert.rejects(second, (error) => connectFault(error) === 'refused-address')
      assert.equal(await get('origin.example'), '127.0.0.1 origin.example')
    })
  })
}

describe('the client: TLS', () => {
  it('refuses a certificate that nobody vouches for', async (t) => {
    const { get } = await start(t, 'https', { agent: { ca: undefined } })
    await assert.rejects(get('origin.example'), (error) => connectFault(error) === 'unreachable')
  })

  it('refuses a certificate for another name', async (t) => {
    const { get } = await start(t, 'https')
    await assert.rejects(get('other.example'), (error) => connectFault(error) === 'unreachable')
    await assert.rejects(get('127.0.0.1'), (error) => connectFault(error) === 'unreachable')
  })

  it('gives up on a server that never shakes hands', async (t) => {
    const silent = net.createServer((socket) => socket.on('error', () => {}))
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { get, client } = await start(t, 'https', {
      agent: { connectTimeoutMs: 50 },
      port: (silent.address() as net.AddressInfo).port,
    })
    await assert.rejects(get('origin.example'), (error) => connectFault(error) === 'timed-out')
    client.close()
    silent.close()
  })

  it('resumes its sessions', async (t) => {
    const { get, server } = await start(t, 'https')
    const resumed: boolean[] = []
    server.on('secureConnection', (socket) => resumed.push(socket.isSessionReused()))
    await get('origin.example', { connection: 'close' })
    await get('origin.example', { connection: 'close' })
    assert.deepEqual(resumed, [false, true])
  })
})

type Options = {
  lookup?: Lookup
  agent?: Parameters<typeof createClient>[1]
  port?: number
  allowed?: string[]
}

/** A server on 127.0.0.1, which is allowed, and a canary on 127.0.0.2 with the same port. */
async function start(
  t: TestContext,
  scheme: 'http' | 'https',
  { lookup, agent, port: fixedPort, allowed = ['127.0.0.1/32'] }: Options = {},
) {
  const server = Object.assign(
    scheme === 'https' ? https.createServer({ key, cert: certificate }) : http.createServer(),
    {
      accepted: 0,
    },
  )
  server.on('connection', () => {
    server.accepted += 1
  })
  server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
    response.end(`${request.socket.localAddress} ${request.headers.host?.replace(/:\d+$/, '')}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  const canary = Object.assign(net.createServer(), { accepted: 0 })
  canary.on('connection', (socket) => {
    canary.accepted += 1
    socket.destroy()
  })
  canary.listen(port, '127.0.0.2')
  await once(canary, 'listening')

  const guard = createAddressGuard(allowed.map((range) => ({ cidr: ipaddr.parseCIDR(range), port: null })))
  const client = createClient(guard, { ca: certificate, lookup: lookup ?? lookupByName, ...agent })
  t.after(() => {
    client.close()
    server.close()
    server.closeAllConnections()
    canary.close()
  })

  const get = async (host: string, headers: Record<string, string> = {}): Promise<string> => {
    const origin = readTestOrigin(scheme, host, fixedPort ?? port)
    const sent = ['Host', origin.authority, ...Object.entries(headers).flat()]
    const request = { method: 'GET', path: '/', headers: sent, silenceMs: 10_000 }
    const { body } = await sendRequest(client, origin, request).response
    return String(Buffer.concat(await body.toArray()))
  }
  return { get, server, canary, client, port }
}

/** Also of hosts that no checked origin has. */
function readTestOrigin(scheme: 'http' | 'https', hostname: string, port: number): Origin {
  const authority = `${hostname}:${port}`
  return { protocol: `${scheme}:`, hostname, port, authority, key: authority }
}

const NAMES: Record<string, string[]> = {
  'origin.example': ['127.0.0.1'],
  'other.example': ['127.0.0.1'],
  'canary.example': ['127.0.0.2'],
  'mapped.example': ['::ffff:127.0.0.2'],
}

function lookupByName(name: string): Promise<readonly string[]> {
  if (name === 'slow.example') return new Promise(() => {})
  return Promise.resolve(NAMES[name] ?? [])
}
