/**
 * The special-purpose registries of IANA, row by row (iana-ipv4-special-registry,
 * iana-ipv6-special-registry), with multicast: of each block the first and the
 * last address, and the neighbours one outside of it.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import ipaddr from 'ipaddr.js'

import { createAddressGuard } from './address-guard.ts'

const guard = createAddressGuard([])

/** Whether the address before the block, and the one behind it, is of the public internet. */
type Row = [cidr: string, before: boolean, behind: boolean]

const IPV4: Row[] = [
  ['0.0.0.0/8', false, true],
  ['0.0.0.0/32', false, false],
  ['10.0.0.0/8', true, true],
  ['100.64.0.0/10', true, true],
  ['127.0.0.0/8', true, true],
  ['169.254.0.0/16', true, true],
  ['172.16.0.0/12', true, true],
  ['192.0.0.0/24', true, true],
  ['192.0.0.0/29', true, false],
  ['192.0.0.8/32', false, false],
  ['192.0.0.9/32', false, false],
  ['192.0.0.10/32', false, false],
  ['192.0.0.170/31', false, false],
  ['192.0.2.0/24', true, true],
  ['192.31.196.0/24', true, true],
  ['192.52.193.0/24', true, true],
  ['192.88.99.0/24', true, true],
  ['192.168.0.0/16', true, true],
  ['192.175.48.0/24', true, true],
  ['198.18.0.0/15', true, true],
  ['198.51.100.0/24', true, true],
  ['203.0.113.0/24', true, true],
  ['224.0.0.0/4', true, false],
  ['240.0.0.0/4', false, false],
  ['255.255.255.255/32', false, false],
]

const IPV6: Row[] = [
  ['::/128', false, false],
  ['::1/128', false, false],
  ['::ffff:0:0/96', false, false],
  ['64:ff9b::/96', false, false],
  ['64:ff9b:1::/48', false, false],
  ['100::/64', false, false],
  ['100:0:0:1::/64', false, false],
  ['2001::/23', true, true],
  ['2001::/32', true, false],
  ['2001:1::1/128', false, false],
  ['2001:1::2/128', false, false],
  ['2001:1::3/128', false, false],
  ['2001:2::/48', false, false],
  ['2001:3::/32', false, false],
  ['2001:4:112::/48', false, false],
  ['2001:10::/28', false, false],
  ['2001:20::/28', false, false],
  ['2001:30::/28', false, false],
  ['2001:db8::/32', true, true],
  ['2002::/16', true, true],
  ['2620:4f:8000::/48', true, true],
  ['3fff::/20', true, true],
  ['4000::/2', true, false],
  ['5f00::/16', false, false],
  ['fc00::/7', false, false],
  ['fe80::/10', false, false],
  ['fec0::/10', false, false],
  ['ff00::/8', false, false],
]

/** An address as a number, and back in the plain spelling of its family. */
function numberOf(address: ipaddr.IPv4 | ipaddr.IPv6): bigint {
  return address.toByteArray().reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
}
function textOf(value: bigint, bits: number): string | null {
  if (value < 0n || value >> BigInt(bits) !== 0n) return null
  const bytes = Array.from({ length: bits / 8 }, (_, at) =>
    Number((value >> BigInt(bits - 8 - 8 * at)) & 255n),
  )
  return ipaddr.fromByteArray(bytes).toString()
}

for (const [family, bits, rows] of [
  ['IPv4', 32, IPV4],
  ['IPv6', 128, IPV6],
] as const) {
  describe(`special-purpose blocks of ${family}`, () => {
    for (const [cidr, before, behind] of rows) {
      it(cidr, () => {
        const [network, prefix] = ipaddr.parseCIDR(cidr)
        const first = numberOf(network)
        const last = first + (1n << BigInt(bits - prefix)) - 1n
        const permitted = (value: bigint) => {
          const text = textOf(value, bits)
          return text !== null && guard.permits(text, 443)
        }
        assert.equal(permitted(first), false, 'its first address')
        assert.equal(permitted((first + last) / 2n), false, 'one in its middle')
        assert.equal(permitted(last), false, 'its last address')
        assert.equal(permitted(first - 1n), before, 'the address before it')
        assert.equal(permitted(last + 1n), behind, 'the address behind it')
      })
    }
  })
}

describe('a private IPv4 address inside IPv6', () => {
  const PRIVATE = [
    '127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '192.168.1.1',
    '172.16.0.1',
    '100.64.0.1',
    '0.0.0.0',
  ]
  const hex = (address: string, flip = 0) => {
    const [a, b, c, d] = address.split('.').map((octet) => Number(octet) ^ flip)
    return [(a! << 8) | b!, (c! << 8) | d!].map((group) => group.toString(16)).join(':')
  }
  const FORMS: Record<string, (address: string) => string[]> = {
    mapped: (address) => [`::ffff:${address}`, `::ffff:${hex(address)}`, `0:0:0:0:0:FFFF:${hex(address)}`],
    compatible: (address) => [`::${address}`, `::${hex(address)}`],
    translated: (address) => [`::ffff:0:${address}`, `::ffff:0:${hex(address)}`],
    NAT64: (address) => [`64:ff9b::${address}`, `64:ff9b::${hex(address)}`, `0064:FF9B:0::${hex(address)}`],
    'local NAT64': (address) => [`64:ff9b:1::${address}`, `64:ff9b:1:ffff:ffff:ffff:${hex(address)}`],
    '6to4': (address) => [
      `2002:${hex(address)}::`,
      `2002:${hex(address)}::1`,
      `2002:${hex(address)}:1::${address}`,
    ],
    // Its client stands in the last bits, every one of them flipped (RFC 4380, section 4).
    Teredo: (address) => [
      `2001::${hex(address)}`,
      `2001:0:808:808:0:0:${hex(address, 255)}`,
      `2001:0:${hex(address)}::`,
    ],
  }
  for (const [form, spell] of Object.entries(FORMS)) {
    it(`${form}: refused in every spelling`, () => {
      for (const address of PRIVATE) {
        for (const text of spell(address)) {
          assert(ipaddr.IPv6.isValid(text), `${text} is no address: the test is wrong`)
          assert.equal(guard.permits(text, 443), false, text)
        }
      }
    })
  }
})

describe('allowed private origins', () => {
  it('first and last address of the block, with its port; one outside, and any other port, are refused', () => {
    const allowing = createAddressGuard([
      { cidr: ipaddr.parseCIDR('10.20.0.0/30'), port: 8000 },
      { cidr: ipaddr.parseCIDR('fd00:1::/126'), port: 8000 },
    ])
    const cases: [string, number, boolean][] = [
      ['10.19.255.255', 8000, false],
      ['10.20.0.0', 8000, true],
      ['10.20.0.3', 8000, true],
      ['10.20.0.4', 8000, false],
      ['10.20.0.0', 7999, false],
      ['10.20.0.0', 8001, false],
      ['::ffff:10.20.0.0', 8000, false],
      ['64:ff9b::10.20.0.0', 8000, false],
      ['fd00:0:ffff:ffff:ffff:ffff:ffff:ffff', 8000, false],
      ['fd00:1::', 8000, true],
      ['fd00:1::3', 8000, true],
      ['fd00:1::4', 8000, false],
      ['fd00:1::', 443, false],
    ]
    for (const [address, port, permitted] of cases)
      assert.equal(allowing.permits(address, port), permitted, `${address} ${port}`)
  })
})
