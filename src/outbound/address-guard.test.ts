import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import ipaddr from 'ipaddr.js'

import { createAddressGuard, isPublicAddress } from './address-guard.ts'

const guard = createAddressGuard([])

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.0.3.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '198.51.99.255',
  '198.51.101.0',
  '203.0.112.255',
  '203.0.114.0',
  '223.255.255.255',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2003::1',
  '2606:4700:4700::1111',
  '2a00:1450:4001:800::200e',
  '3ffe::1',
]

// Block, then its first and last address: the registries of IANA
// (iana-ipv4-special-registry, iana-ipv6-special-registry), multicast, and what
// lies outside the block of IPv6 that has been given out.
const SPECIAL: [name: string, first: string, last: string][] = [
  ['this network 0.0.0.0/8', '0.0.0.0', '0.255.255.255'],
  ['private 10.0.0.0/8', '10.0.0.0', '10.255.255.255'],
  ['carrier-grade NAT 100.64.0.0/10', '100.64.0.0', '100.127.255.255'],
  ['loopback 127.0.0.0/8', '127.0.0.0', '127.255.255.255'],
  ['link-local and metadata 169.254.0.0/16', '169.254.0.0', '169.254.255.255'],
  ['metadata', '169.254.169.254', '169.254.170.2'],
  ['private 172.16.0.0/12', '172.16.0.0', '172.31.255.255'],
  ['protocol assignments 192.0.0.0/24', '192.0.0.0', '192.0.0.255'],
  ['documentation 192.0.2.0/24', '192.0.2.0', '192.0.2.255'],
  ['AS112 192.31.196.0/24', '192.31.196.0', '192.31.196.255'],
  ['AMT 192.52.193.0/24', '192.52.193.0', '192.52.193.255'],
  ['6to4 relay 192.88.99.0/24', '192.88.99.0', '192.88.99.255'],
  ['private 192.168.0.0/16', '192.168.0.0', '192.168.255.255'],
  ['AS112 192.175.48.0/24', '192.175.48.0', '192.175.48.255'],
  ['benchmarking 198.18.0.0/15', '198.18.0.0', '198.19.255.255'],
  ['documentation 198.51.100.0/24', '198.51.100.0', '198.51.100.255'],
  ['documentation 203.0.113.0/24', '203.0.113.0', '203.0.113.255'],
  ['multicast 224.0.0.0/4', '224.0.0.0', '239.255.255.255'],
  ['reserved 240.0.0.0/4 and broadcast', '240.0.0.0', '255.255.255.255'],
  ['unspecified and loopback', '::', '::1'],
  ['IPv4-compatible ::/96', '::7f00:1', '::ffff:ffff'],
  ['IPv4-compatible, decimal', '::127.0.0.1', '::8.8.8.8'],
  ['IPv4-mapped ::ffff:0:0/96', '::ffff:0.0.0.0', '::ffff:255.255.255.255'],
  ['IPv4-mapped, also of a public address', '::ffff:8.8.8.8', '::ffff:808:808'],
  ['IPv4-translated ::ffff:0:0:0/96', '::ffff:0:7f00:1', '::ffff:0:808:808'],
  ['NAT64 64:ff9b::/96', '64:ff9b::7f00:1', '64:ff9b::8.8.8.8'],
  ['local NAT64 64:ff9b:1::/48', '64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['discard 100::/64', '100::', '100::ffff:ffff:ffff:ffff'],
  ['dummy 100:0:0:1::/64', '100:0:0:1::', '100:0:0:1:ffff:ffff:ffff:ffff'],
  ['Teredo 2001::/32', '2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['protocol assignments 2001::/23', '2001:1::1', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['benchmarking 2001:2::/48', '2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff'],
  ['AMT 2001:3::/32', '2001:3::', '2001:3:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['AS112 2001:4:112::/48', '2001:4:112::', '2001:4:112:ffff:ffff:ffff:ffff:ffff'],
  ['ORCHID 2001:10::/28', '2001:10::', '2001:1f:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['ORCHIDv2 2001:20::/28', '2001:20::', '2001:2f:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['drone ids 2001:30::/28', '2001:30::', '2001:3f:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['documentation 2001:db8::/32', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['6to4 2002::/16', '2002:7f00:1::', '2002:808:808::1'],
  ['AS112 2620:4f:8000::/48', '2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff'],
  ['documentation 3fff::/20', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['not given out 4000::/3', '4000::', '5eff:ffff::'],
  ['segment routing 5f00::/16', '5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['not given out 6000::/3 to e000::/4', '6000::', 'efff::1'],
  ['unique local fc00::/7', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['metadata of a cloud', 'fd00:ec2::254', 'fd00:ec2::23'],
  ['link-local fe80::/10', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['site-local fec0::/10', 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['multicast ff00::/8', 'ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
]

describe('address guard', () => {
  for (const address of PUBLIC) {
    it(`permits ${address}`, () => {
      assert.equal(guard.permits(address, 443), true)
      assert.equal(isPublicAddress(address), true)
    })
  }

  for (const [name, first, last] of SPECIAL) {
    it(`refuses ${name}`, () => {
      assert.equal(guard.permits(first, 443), false, first)
      assert.equal(guard.permits(last, 443), false, last)
      assert.equal(isPublicAddress(first), false)
    })
  }

  const ODD = [
    '',
    ' 8.8.8.8',
    '8.8.8.8 ',
    '8.8.8.8.',
    '8.8.8',
    '8.526344',
    '134744072',
    '0x08.8.8.8',
    '010.8.8.8',
    '08.8.8.8',
    '8.8.8.8/32',
    '８.8.8.8',
    '8。8。8。8',
    '[2606:4700::1111]',
    '2606:4700::1111%eth0',
    '2606:4700::1111%25',
    '2606:4700:::1111',
    '127.1',
    '0177.0.0.1',
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '[::ffff:7f00:1]',
    'localhost',
    'one.one.one.one',
    '8.8.8.8\u0000',
    '8.8.8.8\n127.0.0.1',
  ]
  for (const text of ODD) {
    it(`reads one spelling only, refuses ${JSON.stringify(text)}`, () => {
      assert.equal(guard.permits(text, 443), false)
    })
  }

  for (const port of [0, -1, 65_536, 1.5, Number.NaN]) {
    it(`refuses port ${port}`, () => assert.equal(guard.permits('8.8.8.8', port), false))
  }
  it('permits the first and the last port', () => {
    assert.deepEqual([guard.permits('8.8.8.8', 1), guard.permits('8.8.8.8', 65_535)], [true, true])
  })
})

describe('allowed private ranges', () => {
  const allowing = createAddressGuard([
    { cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: 4000 },
    { cidr: ipaddr.parseCIDR('10.1.0.0/16'), port: null },
    { cidr: ipaddr.parseCIDR('fd00:1::/32'), port: 8080 },
  ])
  const cases: [address: string, port: number, permitted: boolean][] = [
    ['127.0.0.1', 4000, true],
    ['127.0.0.1', 4001, false],
    ['127.0.0.2', 4000, false],
    ['::ffff:127.0.0.1', 4000, false],
    ['::ffff:7f00:1', 4000, false],
    ['::1', 4000, false],
    ['10.1.0.0', 1, true],
    ['10.1.255.255', 65_535, true],
    ['10.2.0.0', 80, false],
    ['10.0.255.255', 80, false],
    ['fd00:1::5', 8080, true],
    ['fd00:1::5', 80, false],
    ['fd00:2::5', 8080, false],
    ['8.8.8.8', 4000, true],
  ]
  for (const [address, port, permitted] of cases) {
    it(`${address} port ${port}: ${permitted}`, () =>
      assert.equal(allowing.permits(address, port), permitted))
  }
  it('says whether there are any', () => {
    assert.deepEqual([allowing.allowsPrivate, guard.allowsPrivate], [true, false])
  })
})
