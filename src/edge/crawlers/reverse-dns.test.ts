import assert from 'node:assert/strict'
import dgram from 'node:dgram'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { startNameServer, type Zone } from '../../../test/support/name-server.ts'
import { createReverseDns } from './reverse-dns.ts'

const HOSTS = ['googlebot.com', 'google.com']
const ADDRESS = '203.0.113.1'

async function standingOf(t: TestContext, zone: Zone, address = ADDRESS) {
  const { server } = await startNameServer(t, zone)
  return createReverseDns([server])(address, HOSTS)
}

describe('forward-confirmed reverse DNS', () => {
  const GOOD = 'c.googlebot.com'
  const five = ['a.example', 'b.example', 'c.example', 'd.example', 'e.example']
  const rows: [what: string, standing: string, names: string[], addresses: Zone][] = [
    ['a name of the owner that has the address', 'verified', [GOOD], { [GOOD]: [ADDRESS] }],
    ['one of several names', 'verified', ['a.example', GOOD], { [GOOD]: ['192.0.2.9', ADDRESS] }],
    ['in any case', 'verified', ['C.GoogleBot.com'], { [GOOD]: [ADDRESS] }],
    // Who has an address can write any name for it.
    ["the owner's name, which has other addresses", 'forged', [GOOD], { [GOOD]: ['203.0.113.2'] }],
    [
      "a name that begins as the owner's",
      'forged',
      ['google.com.example'],
      { 'google.com.example': [ADDRESS] },
    ],
    ["a name that ends as the owner's", 'forged', ['evilgoogle.com'], { 'evilgoogle.com': [ADDRESS] }],
    // One label that holds a dot, directly below `com`.
    ['a name with a dot in its label', 'forged', ['x\\.googlebot.com'], { 'x.googlebot.com': [ADDRESS] }],
    ['a name that no host has', 'forged', ['a b.googlebot.com'], { 'a b.googlebot.com': [ADDRESS] }],
    ['a right name behind five others', 'forged', [...five, GOOD], { [GOOD]: [ADDRESS] }],
    ['a server that cannot say the addresses of the name', 'unknown', [GOOD], { [GOOD]: 'fails' }],
  ]
  for (const [what, standing, names, addresses] of rows) {
    it(`${what}: ${standing}`, async (t) => {
      assert.equal(await standingOf(t, { [ADDRESS]: names, ...addresses }), standing)
    })
  }

  it('IPv6, in any spelling', async (t) => {
    const full = '2001:0db8:0000:0000:0000:0000:0000:0001'
    const zone = { [full]: ['six.google.com'], 'six.google.com': ['2001:db8:0:0:0:0:0:1'] }
    assert.equal(await standingOf(t, zone, '2001:db8::1'), 'verified')
  })

  it('no name, or one that does not exist: forged', async (t) => {
    assert.equal(await standingOf(t, {}), 'forged')
    assert.equal(await standingOf(t, { [ADDRESS]: ['gone.googlebot.com'] }), 'forged')
  })

  it('no address, a failing or a silent server: unknown', async (t) => {
    assert.equal(await standingOf(t, { [ADDRESS]: 'fails' }), 'unknown')
    const silent = dgram.createSocket('udp4').bind(0, '127.0.0.1')
    await once(silent, 'listening')
    t.after(() => silent.close())
    const asking = createReverseDns([`127.0.0.1:${silent.address().port}`])
    for (const address of ['nonsense', ADDRESS]) assert.equal(await asking(address, HOSTS), 'unknown')
  })
})
