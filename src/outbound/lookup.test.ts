import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { startNameServer, type Zone } from '../../test/support/name-server.ts'
import { createLookup } from './lookup.ts'

async function start(t: TestContext, zone: Zone, hostsFile = '/nonexistent') {
  const { server, asked } = await startNameServer(t, zone)
  return { lookup: createLookup({ servers: [server], hostsFile }), zone, asked }
}

describe('lookup', () => {
  it('gives the addresses of both families, IPv4 first, or of one where there is no other', async (t) => {
    const { lookup } = await start(t, {
      'both.example': ['192.0.2.1', '192.0.2.2', '2001:db8:0:0:0:0:0:1'],
      'v6.example': ['2001:db8:0:0:0:0:0:1'],
      'v4.example': ['192.0.2.1'],
    })
    assert.deepEqual(await lookup('both.example'), ['192.0.2.1', '192.0.2.2', '2001:db8::1'])
    assert.deepEqual(await lookup('v6.example'), ['2001:db8::1'])
    assert.deepEqual(await lookup('v4.example'), ['192.0.2.1'])
  })

  it('rejects when there is no such name, and asks again later', async (t) => {
    const { lookup, zone, asked } = await start(t, {})
    await assert.rejects(lookup('new.example'))
    zone['new.example'] = ['192.0.2.1']
    assert.deepEqual(await lookup('new.example'), ['192.0.2.1'])
    assert.equal(asked.length, 4)
  })

  it('asks once for connections that are opened together', async (t) => {
    const { lookup, asked } = await start(t, { 'a.example': ['192.0.2.1'] })
    await Promise.all([lookup('a.example'), lookup('a.example'), lookup('a.example')])
    await lookup('a.example')
    assert.deepEqual(asked.toSorted(), ['A a.example', 'AAAA a.example'])
  })

  it('never asks the network for localhost', async (t) => {
    const { lookup, asked } = await start(t, { localhost: ['192.0.2.1'] })
    assert.deepEqual(await lookup('localhost'), ['127.0.0.1', '::1'])
    assert.deepEqual(asked, [])
  })

  it('believes the hosts file before the network', async (t) => {
    const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-hosts-'))
    t.after(() => rm(dir, { recursive: true }))
    const file = path.join(dir, 'hosts')
    const line = '10.0.0.5\tintra.example  Shop.Example # 10.0.0.6 x.example'
    await writeFile(file, `# a comment\n${line}\nnonsense y.example\n`)
    const { lookup, asked } = await start(t, { 'x.example': ['192.0.2.1'], 'y.example': ['192.0.2.2'] }, file)
    assert.deepEqual(await lookup('shop.example'), ['10.0.0.5'])
    assert.deepEqual(asked, [])
    assert.deepEqual(await lookup('x.example'), ['192.0.2.1'])
    assert.deepEqual(await lookup('y.example'), ['192.0.2.2'])
  })
})
