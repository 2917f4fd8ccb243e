import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { describe, it, type TestContext } from 'node:test'

import ipaddr from 'ipaddr.js'
import { listening } from '../../../test/support/loopback.ts'
import { createSelfSigned } from '../../gateway/tls-key.ts'
import { createAddressGuard } from '../address-guard.ts'
import { type ConnectFault, connectFault } from '../guarded-connect.ts'
import type { Lookup } from '../lookup.ts'
import type { Origin } from '../origin.ts'
import { createClient } from './pool.ts'
import { sendRequest } from './request.ts'

const { privateKey, certificate } = createSelfSigned('origin.example')
const key = privateKey.export({ type: 'pkcs8', format: 'pem' })

const fault = (wanted: ConnectFault | null) => (error: unknown) => connectFault(error) === wanted
const FOUND = '127.0.0.1 origin.example'

for (const scheme of ['http', 'https'] as const) {
  describe(`the client by ${scheme}`, () => {
    it('keeps none when it is closed, not for requests that waited for one either', async (t) => {
      const { client, get, server } = await start(t, scheme, { agent: { perOrigin: 1 } })
      server.removeAllListeners('request')
      const asked = once(server, 'request')
      const ended = Promise.allSettled([1, 2, 3].map(() => get('origin.example')))
      await asked
      assert.deepEqual([client.open, client.waiting], [1, 2])
      client.close()
      assert((await ended).every(({ status }) => status === 'rejected'))
      assert.deepEqual([client.open, client.waiting], [0, 0])
      await assert.rejects(get('origin.example'))
      assert.equal(server.accepted, 1)
    })

    it('refuses what the guard refuses, and serves what waited for it', async (t) => {
      const { get, canary } = await start(t, scheme, { agent: { perOrigin: 1 } })
      const hosts = ['127.0.0.2', '127.2', '::ffff:127.0.0.2', 'mapped.example', '127.0.0.2.']
      for (const host of hosts) await assert.rejects(get(host), fault('refused-address'), host)
      const waiting = [get('canary.example'), get('canary.example')]
      for (const one of waiting) await assert.rejects(one, fault('refused-address'))
      assert.equal(canary.accepted, 0)
      assert.equal(await get('origin.example'), FOUND)
    })

    it('holds its caps while connections are being made', async (t) => {
      const answers: (() => void)[] = []
      const lookup: Lookup = () => new Promise((resolve) => void answers.push(() => resolve(['127.0.0.1'])))
      const { get, server } = await start(t, scheme, { lookup, agent: { perOrigin: 3 } })
      const all = Array.from({ length: 9 }, () => get('origin.example'))
      assert.equal(answers.length, 3)
      for (const answer of answers) answer()
      assert.equal((await Promise.all(all)).length, 9)
      assert.equal(server.accepted, 3)
    })
  })
}

describe('the client: TLS', () => {
  it('refuses a certificate that nobody vouches for, or for another name', async (t) => {
    const unknown = await start(t, 'https', { agent: { ca: undefined } })
    await assert.rejects(unknown.get('origin.example'), fault('unreachable'))
    const { get } = await start(t, 'https')
    await assert.rejects(get('other.example'), fault('unreachable'))
    await assert.rejects(get('127.0.0.1'), fault('unreachable'))
  })

  it('gives up on a server that never shakes hands', async (t) => {
    const silent = net.createServer((socket) => socket.on('error', () => {}))
    t.after(() => void silent.close())
    const port = await listening(silent)
    const { get } = await start(t, 'https', { agent: { connectTimeoutMs: 50 }, port })
    await assert.rejects(get('origin.example'), fault('timed-out'))
  })
})

type Options = { lookup?: Lookup; agent?: Parameters<typeof createClient>[1]; port?: number }

/** A server on 127.0.0.1, which is allowed, and a canary on 127.0.0.2 with the same port. */
async function start(t: TestContext, scheme: 'http' | 'https', options: Options = {}) {
  const { lookup = lookupByName, agent, port: fixedPort } = options
  const secure = { key, cert: certificate }
  const made = scheme === 'https' ? https.createServer(secure) : http.createServer()
  const server = Object.assign(made, { accepted: 0 })
  server.on('connection', () => server.accepted++)
  server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
    response.end(`${request.socket.localAddress} ${request.headers.host?.replace(/:\d+$/, '')}`)
  })
  const port = await listening(server)
  const canary = Object.assign(net.createServer(), { accepted: 0 })
  canary.on('connection', (socket) => {
    canary.accepted++
    socket.destroy()
  })
  canary.listen(port, '127.0.0.2')
  await once(canary, 'listening')
  const guard = createAddressGuard([{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }])
  const client = createClient(guard, { ca: certificate, lookup, ...agent })
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
  return { get, server, canary, client }
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

const lookupByName: Lookup = async (name) => NAMES[name] ?? []
