import assert from 'node:assert/strict'
import dgram from 'node:dgram'
import { once } from 'node:events'
import { after, describe, it } from 'node:test'
import { startNameServer, type Zone } from '../../../test/support/name-server.ts'
import { createReverseDns } from './reverse-dns.ts'

const HOSTS = ['googlebot.com', 'google.com']

const ZONE: Zone = {
  '66.249.66.1': ['crawl-66-249-66-1.googlebot.com'],
  'crawl-66-249-66-1.googlebot.com': ['66.249.66.1'],
  // Two names, the second of which is right.
  '66.249.66.2': ['other.example', 'Crawl-2.GoogleBot.com'],
  'crawl-2.googlebot.com': ['192.0.2.9', '66.249.66.2'],
  // Who has an address can write any name for it.
  '203.0.113.1': ['crawl-66-249-66-1.googlebot.com'],
  '203.0.113.2': ['googlebot.com.evil.example'],
  'googlebot.com.evil.example': ['203.0.113.2'],
  '203.0.113.3': ['evilgooglebot.com'],
  'evilgooglebot.com': ['203.0.113.3'],
  // One label that holds a dot, directly below `com`.
  '203.0.113.9': ['x\\.googlebot.com'],
  'x.googlebot.com': ['203.0.113.9'],
  '203.0.113.10': ['a b.googlebot.com'],
  '203.0.113.4': ['gone.googlebot.com'],
  '203.0.113.6': 'fails',
  '203.0.113.7': ['broken.googlebot.com'],
  'broken.googlebot.com': 'fails',
  '2001:0db8:0000:0000:0000:0000:0000:0001': ['six.google.com'],
  'six.google.com': ['2001:db8:0:0:0:0:0:1'],
  '203.0.113.8': ['a.example', 'b.example', 'c.example', 'd.example', 'e.example', 'late.googlebot.com'],
  'late.googlebot.com': ['203.0.113.8'],
}

const { server } = await startNameServer({ after }, ZONE)
const confirm = createReverseDns([server])

describe('forward-confirmed reverse DNS', () => {
  const rows: [what: string, address: string, standing: string][] = [
    ['a name of the owner that has the address', '66.249.66.1', 'verified'],
    ['one of several names, in any case', '66.249.66.2', 'verified'],
    ['IPv6, in any spelling', '2001:db8::1', 'verified'],
    ["the owner's name, which has other addresses", '203.0.113.1', 'forged'],
    ["a name that only begins as the owner's", '203.0.113.2', 'forged'],
    ["a name that only ends as the owner's", '203.0.113.3', 'forged'],
    ['a name with a dot in its label', '203.0.113.9', 'forged'],
    ['a name that no host has', '203.0.113.10', 'forged'],
    ['a name that does not exist', '203.0.113.4', 'forged'],
    ['nothing at all', '203.0.113.99', 'forged'],
    ['a right name behind five others', '203.0.113.8', 'forged'],
    ['a server that cannot say its name', '203.0.113.6', 'unknown'],
    ['a server that cannot say the addresses of the name', '203.0.113.7', 'unknown'],
    ['no address', 'nonsense', 'unknown'],
  ]
  for (const [what, address, standing] of rows)
    it(`${what}: ${standing}`, async () => assert.equal(await confirm(address, HOSTS), standing))

  it('a silent server: unknown', async (t) => {
    const silent = dgram.createSocket('udp4').bind(0, '127.0.0.1')
    await once(silent, 'listening')
    t.after(() => silent.close())
    const asking = createReverseDns([`127.0.0.1:${silent.address().port}`])
    assert.equal(await asking('66.249.66.1', HOSTS), 'unknown')
  })
})
