import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import ipaddr from 'ipaddr.js'

import { createAddressGuard } from './address-guard.ts'
import type { Lookup } from './lookup.ts'
import { checkOriginUrl } from './origin-url.ts'

const guard = createAddressGuard([])
const allowing = createAddressGuard([
  { cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: 4000 },
  { cidr: ipaddr.parseCIDR('10.1.0.0/16'), port: null },
])

const NAMES: Record<string, string[]> = {
  'www.example.com': ['93.184.216.34', '2606:2800:220:1::1'],
  'xn--bcher-kva.example': ['93.184.216.34'],
  'private.example.com': ['10.1.2.3'],
  'mixed.example.com': ['93.184.216.34', '10.2.0.1'],
  'mapped.example.com': ['::ffff:10.0.0.1'],
  'metadata.example.com': ['169.254.169.254'],
  'public.internal': ['93.184.216.34'],
  'shop.internal': ['10.1.0.5'],
  'half.internal': ['10.1.0.5', '10.2.0.5'],
  web: ['10.1.0.7'],
  localhost: ['127.0.0.1', '::1'],
}
const lookup: Lookup = async (name) => {
  const addresses = NAMES[name]
  if (addresses === undefined) throw new Error('ENOTFOUND')
  return addresses
}
const check = (raw: string, by = guard) => checkOriginUrl(raw, by, { lookup, timeoutMs: 2_000 })

describe('an origin URL is accepted and written in one way', () => {
  const ACCEPTED: [raw: string, originUrl: string][] = [
    ['https://www.example.com', 'https://www.example.com'],
    ['https://www.example.com/', 'https://www.example.com'],
    ['HTTPS://WWW.Example.COM', 'https://www.example.com'],
    ['https://www.example.com.', 'https://www.example.com'],
    ['https://www.example.com:443', 'https://www.example.com'],
    ['http://www.example.com:80/', 'http://www.example.com'],
    ['http://www.example.com:443', 'http://www.example.com:443'],
    ['https://www.example.com:8443', 'https://www.example.com:8443'],
    ['https://www.example.com:1', 'https://www.example.com:1'],
    ['https://www.example.com:65535', 'https://www.example.com:65535'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['https://93.184.216.34', 'https://93.184.216.34'],
    ['https://[2606:2800:220:1::1]:8443/', 'https://[2606:2800:220:1::1]:8443'],
    ['https://not-there-yet.example.com', 'https://not-there-yet.example.com'],
    ['https://intern.example.com', 'https://intern.example.com'],
    ['https://local.example.com', 'https://local.example.com'],
  ]
  for (const [raw, originUrl] of ACCEPTED) {
    it(raw, async () => assert.deepEqual(await check(raw), { ok: true, originUrl }))
  }

  it('stays as it is when it is checked again', async () => {
    for (const [, originUrl] of ACCEPTED) assert.deepEqual(await check(originUrl), { ok: true, originUrl })
  })

  it('although the name servers are silent', async () => {
    const silent: Lookup = () => new Promise(() => {})
    assert.deepEqual(
      await checkOriginUrl('https://www.example.com', guard, { lookup: silent, timeoutMs: 20 }),
      {
        ok: true,
        originUrl: 'https://www.example.com',
      },
    )
  })
})

describe('an origin URL is refused with its reason', () => {
  const INTERNAL =
    'must not be an internal address, unless the operator allows it (PREPAINT_ALLOW_PRIVATE_ORIGINS)'
  const SPACES = 'must not contain spaces, control characters or backslashes'
  const REST = 'must not have a path, query or fragment'
  const REFUSED: Record<string, string[]> = {
    'must be a full URL such as https://www.example.com': [
      '',
      'www.example.com',
      '//www.example.com',
      '/path',
      '?',
      '1:',
    ],
    'must use http or https': [
      'ftp://www.example.com',
      'file:///etc/passwd',
      'gopher://www.example.com',
      'ws://www.example.com',
      'javascript:alert(1)',
      'data:text/html,x',
      'www.example.com:443',
    ],
    'must name a host': [
      'https://',
      'https:',
      'https:www.example.com',
      'https:/www.example.com',
      'https:///www.example.com',
    ],
    'must not contain a user name or password': [
      'https://user@www.example.com',
      'https://user:password@www.example.com',
      'https://@www.example.com',
      'https://www.example.com@127.0.0.1',
    ],
    [REST]: [
      'https://www.example.com/path',
      'https://www.example.com//',
      'https://www.example.com?x',
      'https://www.example.com/?',
      'https://www.example.com/#',
      'https://www.example.com/.',
    ],
    [SPACES]: [
      ' https://www.example.com',
      'https://www.example.com\n',
      'https://www.exa\tmple.com',
      'https://www.example.com\\@127.0.0.1',
      'https://www.example.com\u0000',
      'https://www.example.com\u00a0',
      'ht\ntps://127.0.0.1',
    ],
    'is not a valid URL': [
      'https://www.example.com:99999',
      'https://www.example.com:x',
      'https://[::1',
      'https://a%00b.example',
      'https://256.1.1.1',
      'https://[fe80::1%25eth0]',
    ],
    'is not a valid host name': [
      'https://a..example.com',
      'https://-.example.com',
      `https://${'a'.repeat(64)}.example.com`,
    ],
    'must not use port 0': ['https://www.example.com:0'],
    [INTERNAL]: [
      'http://127.0.0.1',
      'http://127.0.0.1:8080',
      'http://127.1',
      'http://127.0.0.1.',
      'http://0177.0.0.1',
      'http://0x7f.1',
      'http://0x7f000001',
      'http://2130706433',
      'http://017700000001',
      'http://１２７.0.0.1',
      'http://127。0。0。1',
      'http://①②⑦.0.0.1',
      'http://%31%32%37.0.0.1',
      'http://0',
      'http://0.0.0.0',
      'http://10.0.0.1',
      'http://172.16.0.1',
      'http://192.168.1.1',
      'http://100.64.0.1',
      'http://169.254.169.254',
      'http://198.18.0.1',
      'http://224.0.0.1',
      'http://255.255.255.255',
      'http://[::]',
      'http://[::1]',
      'http://[::ffff:127.0.0.1]',
      'http://[::ffff:7f00:1]',
      'http://[0:0:0:0:0:ffff:127.0.0.1]',
      'http://[::127.0.0.1]',
      'http://[64:ff9b::7f00:1]',
      'http://[2002:7f00:1::]',
      'http://[2001::1]',
      'http://[fc00::1]',
      'http://[fe80::1]',
      'http://[fd00:ec2::254]',
    ],
    'must write an IP address as four decimal numbers': [
      'http://010.1.2.3',
      'http://8.8.2056',
      'http://134744072',
      'http://8.8.8.8.:80',
      'http://８.8.8.8',
    ],
    'localhost is not allowed': [
      'http://localhost',
      'http://LOCALHOST:3000',
      'http://localhost.',
      'http://app.localhost',
      'http://ｌocalhost',
      'http://a.b.localhost.',
    ],
    'internal names are not allowed': [
      'http://printer.local',
      'http://metadata.google.internal',
      'http://public.internal',
      'http://nas.home.arpa',
      'http://nas.home',
      'http://nas.lan',
      'http://wiki.corp',
      'http://wiki.intranet',
      'http://x.private',
      'http://localhost.localdomain',
      'http://1.0.0.127.in-addr.arpa',
    ],
    'must be a full domain name': ['http://intranet-host', 'http://web:8080', 'http://com'],
    'the name resolves to an internal address': [
      'https://private.example.com',
      'https://mixed.example.com',
      'https://mapped.example.com',
      'https://metadata.example.com',
    ],
  }
  for (const [reason, raws] of Object.entries(REFUSED)) {
    for (const raw of raws) {
      it(`${JSON.stringify(raw)}: ${reason}`, async () =>
        assert.deepEqual(await check(raw), { ok: false, reason }))
    }
  }

  it('too long', async () => {
    const of = (length: number) => `https://www.example.com/${'a'.repeat(length - 24)}`
    assert.deepEqual(await check(of(2_048)), { ok: false, reason: REST })
    assert.deepEqual(await check(of(2_049)), { ok: false, reason: 'must be at most 2048 characters' })
  })
})

describe('with allowed private ranges', () => {
  const CASES: [raw: string, originUrl: string | null][] = [
    ['http://127.0.0.1:4000', 'http://127.0.0.1:4000'],
    ['http://127.0.0.1:4001', null],
    ['http://127.0.0.1', null],
    ['http://127.0.0.2:4000', null],
    ['http://[::1]:4000', null],
    ['http://[::ffff:127.0.0.1]:4000', null],
    ['http://localhost:4000', 'http://localhost:4000'],
    ['http://localhost:4001', null],
    ['http://app.localhost:4000', null],
    ['http://10.1.2.3:99', 'http://10.1.2.3:99'],
    ['http://10.2.0.1', null],
    ['https://private.example.com', 'https://private.example.com'],
    ['https://mixed.example.com', null],
    ['http://shop.internal', 'http://shop.internal'],
    ['http://half.internal', null],
    ['http://public.internal', null],
    ['http://nobody.internal', null],
    ['http://web:8080', 'http://web:8080'],
    ['https://www.example.com', 'https://www.example.com'],
  ]
  for (const [raw, originUrl] of CASES) {
    it(`${raw} is ${originUrl === null ? 'refused' : 'accepted'}`, async () => {
      const checked = await check(raw, allowing)
      assert.equal(checked.ok ? checked.originUrl : null, originUrl)
    })
  }
})
