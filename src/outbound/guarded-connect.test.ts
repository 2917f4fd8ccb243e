import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, describe, it } from 'node:test'
import ipaddr from 'ipaddr.js'
import { createAddressGuard } from './address-guard.ts'
import { ConnectError, type ConnectFault, guardedConnect } from './guarded-connect.ts'
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
