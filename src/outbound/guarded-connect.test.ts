import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, describe, it } from 'node:test'

import ipaddr from 'ipaddr.js'

import { createAddressGuard } from './address-guard.ts'
import { ConnectError, type ConnectFault, guardedConnect } from './guarded-connect.ts'
import type { Lookup } from './lookup.ts'

const open: net.Server[] = []
after(() => {
  for (const server of open) server.close()
})

const allowed = await listen('127.0.0.1')
// Same port, other address: only the guard keeps them apart.
const canary = await listen('127.0.0.2', allowed.port)
const guard = createAddressGuard([{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }])
const { port } = allowed

describe('guarded connect', () => {
  it('connects to a permitted address', async () => {
    await connects({ host: '127.0.0.1' })
  })

  it('connects to a name with a permitted address', async () => {
    await connects({ host: 'shop.example', lookup: answers(['127.0.0.1']) })
    await connects({ host: 'Shop.Example.', lookup: answers(['127.0.0.1']) })
  })

  it('passes over refused addresses and takes the permitted one', async () => {
    await connects({ host: 'shop.example', lookup: answers(['127.0.0.2', '::1', '10.0.0.1', '127.0.0.1']) })
    assert.equal(canary.connections, 0)
  })

  it('tries the next address when one does not answer', async () => {
    const loopback = createAddressGuard([{ cidr: ipaddr.parseCIDR('127.0.0.0/8'), port: null }])
    const lookup = answers(['127.0.0.9', '127.0.0.8', '127.0.0.1'])
    await connects({ host: 'shop.example', guard: loopback, lookup })
  })

  it('asks for every connection anew: a name that rebinds gets nowhere', async () => {
    const turns = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1']]
    const lookup: Lookup = async () => turns.shift() ?? []
    await connects({ host: 'rebind.example', lookup })
    await fails({ host: 'rebind.example', lookup }, 'refused-address')
    await connects({ host: 'rebind.example', lookup })
    assert.equal(canary.connections, 0)
  })

  it('resolves once for one connection', async () => {
    let asked = 0
    const lookup: Lookup = async () => {
      asked += 1
      return asked === 1 ? ['127.0.0.1'] : ['127.0.0.2']
    }
    await connects({ host: 'rebind.example', lookup })
    assert.equal(asked, 1)
    assert.equal(canary.connections, 0)
  })

  const SPELLINGS = [
    '127.0.0.2',
    '127.2',
    '0177.0.0.2',
    '0x7f.0.0.2',
    '0x7f000002',
    '2130706434',
    '017700000002',
    '127.0.0.2.',
    '１２７.0.0.2',
    '127。0。0。2',
    '::ffff:127.0.0.2',
    '[::ffff:127.0.0.2]',
    '[::ffff:7f00:2]',
    '[::127.0.0.2]',
    '[64:ff9b::7f00:2]',
    '[2002:7f00:2::]',
    '[::ffff:7f00:2%lo]',
    '127.0.0.2%00.example',
    '127.0.0.2\u0000.example',
    'user@127.0.0.2',
    '127.0.0.2:80',
    '127.0.0.2#.example',
    '0.0.0.0',
    '[::]',
    '',
    '.',
    '127.0.0.2/',
  ]
  for (const host of SPELLINGS) {
    it(`refuses ${JSON.stringify(host)}, and asks no name server about it`, async () => {
      const lookup: Lookup = async () => assert.fail('it was looked up')
      await fails({ host, lookup }, 'refused-address')
      assert.equal(canary.connections, 0)
    })
  }

  it('tells a name without an answer from a refused one', async () => {
    await fails({ host: 'nobody.example', lookup: answers([]) }, 'unresolvable')
    const lookup: Lookup = async () => {
      throw new Error('ENOTFOUND')
    }
    await fails({ host: 'nobody.example', lookup }, 'unresolvable')
  })

  it('tells a closed port', async () => {
    const closed = await listen('127.0.0.1')
    closed.server.close()
    await once(closed.server, 'close')
    await fails({ host: '127.0.0.1', port: closed.port }, 'unreachable')
  })

  it('gives up at its deadline, also while the name server is silent', async () => {
    await fails({ host: 'slow.example', lookup: () => new Promise(() => {}), timeoutMs: 20 }, 'timed-out')
  })

  it('ends with its signal', async () => {
    const gone = new AbortController()
    const lookup: Lookup = async () => {
      gone.abort(new Error('the client went away'))
      return ['127.0.0.1']
    }
    await assert.rejects(
      attempt({ host: 'shop.example', lookup, signal: gone.signal }),
      /the client went away/,
    )
    await assert.rejects(
      attempt({ host: '127.0.0.1', signal: AbortSignal.abort(new Error('before')) }),
      /before/,
    )
  })
})

// Test support

type Attempt = Partial<Parameters<typeof guardedConnect>[0]>

function attempt(options: Attempt): Promise<net.Socket> {
  return guardedConnect({ host: '', port, guard, timeoutMs: 5_000, ...options })
}

async function connects(options: Attempt): Promise<void> {
  const before = allowed.connections
  const socket = await attempt(options)
  const [greeting] = await once(socket, 'data')
  assert.equal(String(greeting), '127.0.0.1')
  assert.equal(allowed.connections, before + 1)
  socket.destroy()
}

async function fails(options: Attempt, fault: ConnectFault): Promise<void> {
  await assert.rejects(attempt(options), (error) => error instanceof ConnectError && error.fault === fault)
}

function answers(addresses: string[]): Lookup {
  return async () => addresses
}

/** A server that says its address to whoever connects, and counts. */
async function listen(address: string, fixedPort = 0) {
  const counted = { connections: 0, port: 0, server: net.createServer() }
  counted.server.on('connection', (socket) => {
    counted.connections += 1
    socket.on('error', () => {})
    socket.end(address)
  })
  counted.server.listen(fixedPort, address)
  await once(counted.server, 'listening')
  counted.port = (counted.server.address() as net.AddressInfo).port
  open.push(counted.server)
  return counted
}
