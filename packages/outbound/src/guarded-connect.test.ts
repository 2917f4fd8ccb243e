import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'
import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'
import ipaddr from 'ipaddr.js'
import { listening } from '../../../test/support/loopback.ts'
import { createAddressGuard } from './address-guard.ts'
import {
  ConnectError,
  type ConnectFault,
  type ConnectOptions,
  connectFault,
  guardedConnect,
  OriginConnector,
} from './guarded-connect.ts'
import type { Lookup } from './lookup.ts'

const servers: net.Server[] = []
after(() => {
  for (const server of servers) server.close()
})

const allowed = await listen('127.0.0.1')
/** The port is that of the allowed address: only the guard keeps them apart. */
const canary = await listen('127.0.0.2', allowed.port)
const closed = await listen('127.0.0.1')
closed.server.close()
const allowing = (cidr: string) => createAddressGuard([{ cidr: ipaddr.parseCIDR(cidr), port: null }])

describe('guarded connect', () => {
  const PERMITTED: [what: string, attempt: Attempt][] = [
    ['an address', { host: '127.0.0.1' }],
    ['a name', { host: 'Shop.Example.', lookup: answers('127.0.0.1') }],
    ['the permitted one of several', { lookup: answers('127.0.0.2', '::1', '10.0.0.1', '127.0.0.1') }],
    [
      'the next one when one does not answer',
      { guard: allowing('127.0.0.0/8'), lookup: answers('127.0.0.9', '127.0.0.1') },
    ],
  ]
  for (const [what, options] of PERMITTED) it(`connects to ${what}`, () => connects(options))

  for (const host of ['127.0.0.2', '127.2', '127.0.0.2\0.example', '127.0.0.2/', '']) {
    it(`refuses ${JSON.stringify(host)}, and asks no name server about it`, () =>
      fails({ host, lookup: async () => assert.fail('it was looked up') }, 'refused-address'))
  }

  const FAULTS: [what: string, attempt: Attempt, fault: ConnectFault][] = [
    ['a name without addresses', { lookup: answers() }, 'unresolvable'],
    ['a name that is not there', { lookup: () => Promise.reject(new Error('ENOTFOUND')) }, 'unresolvable'],
    ['a closed port', { host: '127.0.0.1', port: closed.port }, 'unreachable'],
    ['a silent name server', { lookup: () => new Promise(() => {}), timeoutMs: 20 }, 'timed-out'],
  ]
  for (const [what, options, fault] of FAULTS) it(`${what}: ${fault}`, () => fails(options, fault))

  it('ends with its signal', async () => {
    const gone = new AbortController()
    const lookup: Lookup = async () => {
      gone.abort(new Error('the client went away'))
      return ['127.0.0.1']
    }
    await assert.rejects(attempt({ lookup, signal: gone.signal }), /the client went away/)
    const before = AbortSignal.abort(new Error('before'))
    await assert.rejects(attempt({ host: '127.0.0.1', signal: before }), /before/)
  })
})

describe('connections to origins', () => {
  const { privateKey, certificate } = createSelfSigned('origin.example')
  const secured = { key: privateKey.export({ type: 'pkcs8', format: 'pem' }), cert: certificate }

  /** Why a server of this name cannot be reached; null: it can. */
  async function faultOf(server: net.Server, hostname: string, options: ConnectOptions = {}) {
    const { port } = server.address() as net.AddressInfo
    const given = { ca: certificate, lookup: answers('127.0.0.1'), ...options }
    const protocol = server === allowed.server ? 'http:' : 'https:'
    const socket = new OriginConnector(allowing('127.0.0.1/32'), given).connect({ protocol, hostname, port })
    const connected = once(socket, protocol === 'http:' ? 'connect' : 'secureConnect')
    const fault = await connected.then(() => null, connectFault)
    socket.destroy()
    return fault
  }
  async function serve(t: TestContext, server: net.Server) {
    await listening(server)
    t.after(() => void server.close())
    return server
  }

  it('are none where the guard refuses, whatever the protocol', async (t) => {
    for (const server of [allowed.server, await serve(t, tls.createServer(secured))]) {
      assert.equal(await faultOf(server, 'origin.example'), null)
      for (const host of ['127.0.0.2', '127.2', '127.0.0.2.'])
        assert.equal(await faultOf(server, host), 'refused-address', host)
      for (const address of ['127.0.0.2', '::ffff:127.0.0.2'])
        assert.equal(await faultOf(server, 'a.example', { lookup: answers(address) }), 'refused-address')
    }
    assert.equal(canary.connections, 0)
  })

  it('are none with a certificate that nobody vouches for, or for another name', async (t) => {
    const server = await serve(t, tls.createServer(secured))
    assert.equal(await faultOf(server, 'origin.example', { ca: undefined }), 'unreachable')
    for (const host of ['other.example', '127.0.0.1'])
      assert.equal(await faultOf(server, host), 'unreachable')
  })

  it('are given up where the server never shakes hands', async (t) => {
    const silent = await serve(
      t,
      net.createServer((socket) => void socket.on('error', () => {})),
    )
    assert.equal(await faultOf(silent, 'origin.example', { connectTimeoutMs: 50 }), 'timed-out')
  })
})

type Attempt = Partial<Parameters<typeof guardedConnect>[0]>

function attempt(options: Attempt): Promise<net.Socket> {
  const usual = { host: 'shop.example', port: allowed.port, guard: allowing('127.0.0.1/32') }
  return guardedConnect({ ...usual, timeoutMs: 5_000, ...options })
}

async function connects(options: Attempt): Promise<void> {
  const socket = await attempt(options)
  assert.equal(String((await once(socket, 'data'))[0]), '127.0.0.1')
  assert.equal(canary.connections, 0)
  socket.destroy()
}

async function fails(options: Attempt, fault: ConnectFault): Promise<void> {
  await assert.rejects(attempt(options), (error) => error instanceof ConnectError && error.fault === fault)
  assert.equal(canary.connections, 0)
}

function answers(...addresses: string[]): Lookup {
  return async () => addresses
}

/** A server that says its address to each client. */
async function listen(address: string, fixedPort = 0) {
  const counted = { connections: 0, port: 0, server: net.createServer() }
  counted.server.on('connection', (socket) => {
    counted.connections += 1
    socket.on('error', () => {}).end(address)
  })
  counted.server.listen(fixedPort, address)
  await once(counted.server, 'listening')
  counted.port = (counted.server.address() as net.AddressInfo).port
  servers.push(counted.server)
  return counted
}
