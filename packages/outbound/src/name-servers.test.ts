import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { startNameServer, type Zone } from '../../../test/support/name-server.ts'
import { isNoRecord, NameServers } from './name-servers.ts'

const zone: Zone = {
  'both.example': ['192.0.2.1', '2001:db8:0:0:0:0:0:1'],
  'v6.example': ['2001:db8:0:0:0:0:0:1'],
  'CNAME alias.example': ['both.example'],
  'alias.example': ['192.0.2.1'],
  'TXT both.example': ['one text', 'another; with "quotes"'],
  'failing.example': 'fails',
  'TXT failing.example': 'fails',
}
const { server } = await startNameServer({ after }, zone)
const names = new NameServers([server])

it('gives the addresses of both families, or of one where there is no other', async () => {
  const both = { addresses: ['192.0.2.1', '2001:db8::1'], aliases: [] }
  assert.deepEqual(await names.records('both.example'), both)
  assert.deepEqual((await names.records('v6.example')).addresses, ['2001:db8::1'])
  assert.deepEqual(await names.lookup('both.example'), both.addresses)
})

it('gives the name that an alias stands for', async () => {
  const { aliases } = await names.records('alias.example')
  assert.deepEqual(aliases, ['both.example'])
})

it('gives each TXT record as one text, and none of a name that has none', async () => {
  assert.deepEqual(await names.texts('both.example'), ['one text', 'another; with "quotes"'])
  assert.deepEqual(await names.texts('unknown.example'), [])
})

it('tells a name without records from name servers that fail', async () => {
  await assert.rejects(names.records('unknown.example'), (error) => isNoRecord(error))
  await assert.rejects(names.records('failing.example'), (error) => !isNoRecord(error))
  await assert.rejects(names.texts('failing.example'), (error) => !isNoRecord(error))
})
