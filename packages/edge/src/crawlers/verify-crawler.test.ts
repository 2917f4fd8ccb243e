import assert from 'node:assert/strict'
import dgram from 'node:dgram'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { GOOGLEBOT, GPTBOT } from '../../../../test/support/edge.ts'
import { startNameServer, type Zone } from '../../../../test/support/name-server.ts'
import { parseAddressList } from './address-list.ts'
import { checkReverseDns, type Standing } from './reverse-dns.ts'
import { CrawlerVerifier, KEPT_MS, LOOKUPS_LIMIT } from './verify-crawler.ts'

const IN_RANGE = '192.0.2.7'
const OUTSIDE = '203.0.113.7'

/** Makes a verifier for which `owners` publish ranges, and which finds `says` by DNS. */
function verifier(owners: readonly string[], says: Standing | Promise<Standing> = 'forged') {
  let nowMs = 0
  const asked: string[] = []
  const list = parseAddressList('192.0.2.0/24')
  const crawlers = new CrawlerVerifier(
    { nowMs: () => nowMs },
    (owner) => (owners.includes(owner) ? list : null),
    async (address) => {
      asked.push(address)
      return says
    },
  )
  const wait = (ms: number) => {
    nowMs += ms
  }
  const verify = (userAgent: string, address: string, account = 1) =>
    crawlers.verify(userAgent, address, account)
  return { verify, asked, wait }
}

it('a crawler inside of published ranges is verified at once, and one whose owner publishes nothing is unknown, without DNS', () => {
  const { verify, asked } = verifier(['googlebot'])
  assert.equal(verify(GOOGLEBOT, IN_RANGE), 'verified')
  assert.equal(verify(GPTBOT, OUTSIDE), 'unknown')
  assert.equal(verify('SomeNewBot/1.0', OUTSIDE), 'unknown')
  assert.equal(verify(GOOGLEBOT, ''), 'unknown')
  assert.deepEqual(asked, [])
})

// Proves decided "Forged crawlers"
it('a crawler outside of published ranges is forged, or is looked up in DNS if the owner has host names', async () => {
  assert.equal(verifier(['gptbot']).verify(GPTBOT, OUTSIDE), 'forged')
  assert.equal(await verifier(['googlebot'], 'verified').verify(GOOGLEBOT, OUTSIDE), 'verified')
  assert.equal(await verifier(['googlebot'], 'forged').verify(GOOGLEBOT, OUTSIDE), 'forged')
  assert.equal(await verifier([], 'unknown').verify(GOOGLEBOT, OUTSIDE), 'unknown')
})

it('a result is used again for its time, for the same address and owner only', async () => {
  for (const standing of ['verified', 'forged', 'unknown'] as const) {
    const { verify, asked, wait } = verifier([], standing)
    assert.equal(await verify(GOOGLEBOT, OUTSIDE), standing)
    wait(KEPT_MS[standing] - 1)
    assert.equal(verify(GOOGLEBOT, OUTSIDE), standing, 'without a promise')
    assert.equal(asked.length, 1)
    wait(1)
    await verify(GOOGLEBOT, OUTSIDE)
    await verify(GOOGLEBOT, IN_RANGE)
    await verify('Mozilla/5.0 (compatible; bingbot/2.0)', OUTSIDE)
    assert.equal(asked.length, 4)
  }
})

it('a crawler is unknown while its lookup takes too long, and known once it ends; concurrent requests share a lookup', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { promise, resolve } = Promise.withResolvers<Standing>()
  const { verify, asked } = verifier([], promise)
  const both = [verify(GOOGLEBOT, OUTSIDE), verify(GOOGLEBOT, OUTSIDE)]
  t.mock.timers.tick(3_000)
  assert.deepEqual(await Promise.all(both), ['unknown', 'unknown'])
  assert.equal(asked.length, 1)
  resolve('forged')
  await promise
  assert.equal(await verify(GOOGLEBOT, OUTSIDE), 'forged')
})

it('at the limit of concurrent lookups of an account crawlers are looked up; one more is unknown, without DNS', async () => {
  const { promise, resolve } = Promise.withResolvers<Standing>()
  const { verify, asked } = verifier([], promise)
  const open = Array.from({ length: LOOKUPS_LIMIT / 2 }, (_, at) => verify(GOOGLEBOT, `203.0.113.${at}`))
  assert.equal(verify(GOOGLEBOT, '198.51.100.1'), 'unknown')
  assert.equal(asked.length, LOOKUPS_LIMIT / 2)
  // The crawler of another account is verified all the same.
  open.push(verify(GOOGLEBOT, '198.51.100.2', 2))
  assert.equal(asked.at(-1), '198.51.100.2')
  resolve('verified')
  assert((await Promise.all(open)).every((standing) => standing === 'verified'))
  assert.equal(await verify(GOOGLEBOT, '198.51.100.1'), 'verified')
})

const HOSTS = ['googlebot.com', 'google.com']
const ADDRESS = '203.0.113.1'

async function standingOf(t: TestContext, zone: Zone, address = ADDRESS) {
  const { server } = await startNameServer(t, zone)
  return checkReverseDns(address, HOSTS, [server])
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
    ['a name that only begins so', 'forged', ['google.com.example'], { 'google.com.example': [ADDRESS] }],
    ["a name that ends as the owner's", 'forged', ['evilgoogle.com'], { 'evilgoogle.com': [ADDRESS] }],
    // One label that holds a dot, directly below `com`.
    ['a name with a dot in its label', 'forged', ['x\\.googlebot.com'], { 'x.googlebot.com': [ADDRESS] }],
    ['a name that no host has', 'forged', ['a b.googlebot.com'], { 'a b.googlebot.com': [ADDRESS] }],
    ['a right name behind five others', 'forged', [...five, GOOD], { [GOOD]: [ADDRESS] }],
    ['a server that cannot say the addresses of the name', 'unknown', [GOOD], { [GOOD]: 'fails' }],
  ]
  for (const [what, standing, names, addresses] of rows) {
    it(`${what} makes a crawler ${standing}`, async (t) => {
      assert.equal(await standingOf(t, { [ADDRESS]: names, ...addresses }), standing)
    })
  }

  it('an IPv6 address is verified in any spelling', async (t) => {
    const full = '2001:0db8:0000:0000:0000:0000:0000:0001'
    const zone = { [full]: ['six.google.com'], 'six.google.com': ['2001:db8:0:0:0:0:0:1'] }
    assert.equal(await standingOf(t, zone, '2001:db8::1'), 'verified')
  })

  it('an address without a name, or with a name that does not exist, is forged', async (t) => {
    assert.equal(await standingOf(t, {}), 'forged')
    assert.equal(await standingOf(t, { [ADDRESS]: ['gone.googlebot.com'] }), 'forged')
  })

  it('a text that is no address is unknown, and so is any address while the name server fails or is silent', async (t) => {
    assert.equal(await standingOf(t, { [ADDRESS]: 'fails' }), 'unknown')
    const silent = dgram.createSocket('udp4').bind(0, '127.0.0.1')
    await once(silent, 'listening')
    t.after(() => silent.close())
    const servers = [`127.0.0.1:${silent.address().port}`]
    for (const address of ['nonsense', ADDRESS]) {
      assert.equal(await checkReverseDns(address, HOSTS, servers), 'unknown')
    }
  })
})
