import assert from 'node:assert/strict'
import dgram from 'node:dgram'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'

import { createLookup } from './lookup.ts'

describe('lookup', () => {
  it('gives the addresses of both families, IPv4 first', async (t) => {
    const { server } = await nameServer(t, { 'both.example': ['192.0.2.1', '192.0.2.2', '2001:db8::1'] })
    assert.deepEqual(await createLookup({ servers: [server] })('both.example'), [
      '192.0.2.1',
      '192.0.2.2',
      '2001:db8::1',
    ])
  })

  it('gives those of one family where there is no other', async (t) => {
    const { server } = await nameServer(t, { 'v6.example': ['2001:db8::1'], 'v4.example': ['192.0.2.1'] })
    const lookup = createLookup({ servers: [server] })
    assert.deepEqual(await lookup('v6.example'), ['2001:db8::1'])
    assert.deepEqual(await lookup('v4.example'), ['192.0.2.1'])
  })

  it('rejects when there is no such name, and asks again later', async (t) => {
    const { server, names, asked } = await nameServer(t, {})
    const lookup = createLookup({ servers: [server] })
    await assert.rejects(lookup('new.example'))
    names['new.example'] = ['192.0.2.1']
    assert.deepEqual(await lookup('new.example'), ['192.0.2.1'])
    assert.equal(asked.length, 4)
  })

  it('asks once for connections that are opened together', async (t) => {
    const { server, asked } = await nameServer(t, { 'a.example': ['192.0.2.1'] })
    const lookup = createLookup({ servers: [server] })
    await Promise.all([lookup('a.example'), lookup('a.example'), lookup('a.example')])
    await lookup('a.example')
    assert.deepEqual(asked, ['a.example', 'a.example'])
  })

  it('never asks the network for localhost', async (t) => {
    const { server, asked } = await nameServer(t, { localhost: ['192.0.2.1'] })
    assert.deepEqual(await createLookup({ servers: [server] })('localhost'), ['127.0.0.1', '::1'])
    assert.deepEqual(asked, [])
  })

  it('believes the hosts file before the network', async (t) => {
    const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-hosts-'))
    t.after(() => rm(dir, { recursive: true }))
    const hostsFile = path.join(dir, 'hosts')
    await writeFile(
      hostsFile,
      '# a comment\n10.0.0.5\tintra.example  Shop.Example # 10.0.0.6 x.example\nnonsense y.example\n',
    )
    const { server, asked } = await nameServer(t, { 'x.example': ['192.0.2.1'], 'y.example': ['192.0.2.2'] })
    const lookup = createLookup({ servers: [server], hostsFile })
    assert.deepEqual(await lookup('shop.example'), ['10.0.0.5'])
    assert.deepEqual(asked, [])
    assert.deepEqual(await lookup('x.example'), ['192.0.2.1'])
    assert.deepEqual(await lookup('y.example'), ['192.0.2.2'])
  })

  it('does without a hosts file', async (t) => {
    const { server } = await nameServer(t, { 'a.example': ['192.0.2.1'] })
    assert.deepEqual(await createLookup({ servers: [server], hostsFile: '/nonexistent' })('a.example'), [
      '192.0.2.1',
    ])
  })
})

/** A name server on loopback that knows `names`; `asked` lists its questions. */
async function nameServer(t: TestContext, names: Record<string, string[]>) {
  const asked: string[] = []
  const socket = dgram.createSocket('udp4')
  socket.on('message', (question, from) => {
    const { name, type, end } = readQuestion(question)
    asked.push(name)
    const addresses = (names[name] ?? []).filter((address) => address.includes(':') === (type === AAAA))
    const known = names[name] !== undefined
    const head = Buffer.from(question.subarray(0, end))
    head.writeUInt16BE(known ? 0x8180 : 0x8183, 2)
    head.writeUInt16BE(addresses.length, 6)
    head.writeUInt16BE(0, 8)
    head.writeUInt16BE(0, 10)
    socket.send(
      Buffer.concat([head, ...addresses.map((address) => record(type, address))]),
      from.port,
      from.address,
    )
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return { server: `127.0.0.1:${socket.address().port}`, names, asked }
}

const AAAA = 28

/** RFC 1035, section 4.1.2. */
function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  while (message[at] !== 0) {
    labels.push(message.toString('ascii', at + 1, at + 1 + message[at]!))
    at += 1 + message[at]!
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 }
}

/** RFC 1035, section 4.1.3: the name is that of the question, the answer may be kept for no time. */
function record(type: number, address: string): Buffer {
  const data = address.includes(':')
    ? Buffer.from(expand(address), 'hex')
    : Buffer.from(address.split('.').map(Number))
  return Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]), data])
}

function expand(address: string): string {
  const [left = '', right = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => group.padStart(4, '0')))
  return [
    ...groups(left),
    ...Array(8 - groups(left).length - groups(right).length).fill('0000'),
    ...groups(right),
  ].join('')
}
