import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import ipaddr from 'ipaddr.js'
import { createAddressGuard, isPublicAddress } from './address-guard.ts'

const guard = createAddressGuard([])

/**
 * The special-purpose registries of IANA (iana-ipv4-special-registry, iana-ipv6-special-registry), multicast, and what
 * of IPv6 is not given out; by whether the addresses before and behind the block are of the public internet.
 */
const SPECIAL = {
  both: `
    10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15
    198.51.100.0/24 203.0.113.0/24 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20`,
  before: '192.0.0.0/29 224.0.0.0/4 2001::/32 4000::/2',
  behind: '0.0.0.0/8',
  neither: `
    0.0.0.0/32 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/31 240.0.0.0/4 255.255.255.255/32
    ::/128 ::1/128 ::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64
    100:0:0:1::/64 2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48
    2001:10::/28 2001:20::/28 2001:30::/28 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8`,
}

function addressAt(value: bigint, bits: number): string | null {
  if (value < 0n || value >> BigInt(bits) !== 0n) return null
  const byte = (_: unknown, at: number) => Number((value >> BigInt(bits - 8 - 8 * at)) & 255n)
  return ipaddr.fromByteArray(Array.from({ length: bits / 8 }, byte)).toString()
}

describe('special-purpose blocks: first, middle and last address are refused, neighbours as they are', () => {
  const blocks = Object.entries(SPECIAL).flatMap(([neighbours, text]) =>
    text
      .trim()
      .split(/\s+/)
      .map((cidr) => [cidr, neighbours] as const),
  )
  for (const [cidr, neighbours] of blocks) {
    it(`${cidr}: ${neighbours}`, () => {
      const [network, prefix] = ipaddr.parseCIDR(cidr)
      const bytes = network.toByteArray()
      const first = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
      const last = first + (1n << BigInt(8 * bytes.length - prefix)) - 1n
      const permitted = [first - 1n, first, (first + last) / 2n, last, last + 1n].map((value) => {
        const text = addressAt(value, 8 * bytes.length)
        return text !== null && guard.permits(text, 443) && isPublicAddress(text)
      })
      const [before, behind] = ['before', 'behind'].map((side) => [side, 'both'].includes(neighbours))
      assert.deepEqual(permitted, [before, false, false, false, behind])
    })
  }
})

it('public addresses are permitted, on every port that there is', () => {
  const addresses =
    '1.1.1.1 8.8.8.8 223.255.255.255 2003::1 2606:4700:4700::1111 2a00:1450:4001::200e 3ffe::1'
  for (const address of addresses.split(' ')) assert.equal(guard.permits(address, 443), true, address)
  const ports = [1, 65_535, 0, -1, 65_536, 1.5, Number.NaN]
  const permitted = ports.map((port) => guard.permits('8.8.8.8', port))
  assert.deepEqual(permitted, [true, true, false, false, false, false, false])
})

it('an address has one spelling only', () => {
  const odd = [
    '',
    ' 8.8.8.8',
    '8.8.8.8.',
    '8.8.8',
    '134744072',
    '0x08.8.8.8',
    '010.8.8.8',
    '8.8.8.8/32',
    '８.8.8.8',
    '8.8.8.8\0',
    '8.8.8.8\n127.0.0.1',
    'localhost',
    'one.one.one.one',
    '[2606:4700::1111]',
    '2606:4700::1111%eth0',
    '2606:4700:::1111',
    '::ffff:8.8.8.8',
  ]
  for (const text of odd) assert.equal(guard.permits(text, 443), false, JSON.stringify(text))
})

describe('allowed private ranges', () => {
  const allowing = createAddressGuard([
    { cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: 4000 },
    { cidr: ipaddr.parseCIDR('10.20.0.0/30'), port: null },
    { cidr: ipaddr.parseCIDR('fd00:1::/126'), port: 8000 },
  ])
  const cases: [address: string, port: number, permitted: boolean][] = [
    ['127.0.0.1', 4000, true],
    ['127.0.0.1', 4001, false],
    ['127.0.0.2', 4000, false],
    ['::ffff:127.0.0.1', 4000, false],
    ['10.20.0.0', 1, true],
    ['10.20.0.3', 65_535, true],
    ['10.20.0.4', 80, false],
    ['fd00:1::3', 8000, true],
    ['fd00:1::4', 8000, false],
    ['fd00:1::', 443, false],
    ['8.8.8.8', 4000, true],
  ]
  for (const [address, port, permitted] of cases) {
    it(`${address} port ${port}: ${permitted}`, () =>
      assert.equal(allowing.permits(address, port), permitted))
  }
  it('are known to be there', () => {
    assert.deepEqual([allowing.allowsPrivate, guard.allowsPrivate], [true, false])
  })
})
