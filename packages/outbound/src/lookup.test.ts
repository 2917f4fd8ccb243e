import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, it } from 'node:test'
import { openFolder } from '../../../test/support/folder.ts'
import { startNameServer } from '../../../test/support/name-server.ts'
import { AddressLookup } from './lookup.ts'

const IPV4 = ['192.0.2.1', '192.0.2.2']
const IPV6 = '2001:db8:0:0:0:0:0:1'
const { server, asked, zone } = await startNameServer(
  { after },
  { 'both.example': [...IPV4, IPV6], 'v6.example': [IPV6], 'v4.example': IPV4, localhost: IPV4 },
)
const hostsFile = path.join(openFolder(), 'hosts')
const addresses = new AddressLookup({ servers: [server], hostsFile: '/nonexistent' })
const lookup = (name: string) => addresses.find(name)

it('gives the addresses of both families, IPv4 first, or of one where there is no other', async () => {
  assert.deepEqual(await lookup('both.example'), [...IPV4, '2001:db8::1'])
  assert.deepEqual(await lookup('v6.example'), ['2001:db8::1'])
  assert.deepEqual(await lookup('v4.example'), IPV4)
})

it('rejects when there is no such name, and asks again later', async () => {
  await assert.rejects(lookup('new.example'))
  zone['new.example'] = IPV4
  assert.deepEqual(await lookup('new.example'), IPV4)
})

it('never asks the network for localhost', async () => {
  asked.length = 0
  assert.deepEqual(await lookup('localhost'), ['127.0.0.1', '::1'])
  assert.deepEqual(asked, [])
})

it('believes the hosts file before the network', async () => {
  const line = '10.0.0.5\tintra.example  V4.Example # 10.0.0.6 both.example'
  writeFileSync(hostsFile, `# a comment\n${line}\nnonsense v6.example\n`)
  const withFile = new AddressLookup({ servers: [server], hostsFile })
  asked.length = 0
  assert.deepEqual(await withFile.find('v4.example'), ['10.0.0.5'])
  assert.deepEqual(asked, [])
  assert.equal((await withFile.find('both.example')).length, 3)
  assert.deepEqual(await withFile.find('v6.example'), ['2001:db8::1'])
})
