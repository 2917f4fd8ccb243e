import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import ipaddr from 'ipaddr.js'
import { createAddressGuard } from './address-guard.ts'
import { hostInUrl, parseAuthority, parseHost } from './origin.ts'
import { checkOriginUrl } from './origin-url.ts'

const guard = createAddressGuard([])
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
const lookup = async (name: string) => NAMES[name] ?? Promise.reject(new Error('ENOTFOUND'))
const check = (raw: string, by = guard) => checkOriginUrl(raw, by, { lookup, timeoutMs: 2_000 })

describe('an origin URL is accepted and written in one way', () => {
  const ACCEPTED: [raw: string, originUrl: string][] = [
    ['HTTPS://WWW.Example.COM./', 'https://www.example.com'],
    ['https://www.example.com:443', 'https://www.example.com'],
    ['http://www.example.com:443', 'http://www.example.com:443'],
    ['https://www.example.com:65535', 'https://www.example.com:65535'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['https://93.184.216.34', 'https://93.184.216.34'],
    ['https://[2606:2800:220:1::1]:8443/', 'https://[2606:2800:220:1::1]:8443'],
    ['https://not-there-yet.example.com', 'https://not-there-yet.example.com'],
    ['https://local.example.com', 'https://local.example.com'],
  ]
  for (const [raw, originUrl] of ACCEPTED) {
    it(raw, async () => {
      assert.deepEqual(await check(raw), { ok: true, originUrl })
      assert.deepEqual(await check(originUrl), { ok: true, originUrl })
    })
  }

  it('although the name servers are silent', async () => {
    const silent = { lookup: () => new Promise<never>(() => {}), timeoutMs: 20 }
    assert.equal((await checkOriginUrl('https://www.example.com', guard, silent)).ok, true)
  })
})

describe('an origin URL is refused with its reason', () => {
  const long = (length: number) => `https://www.example.com/${'a'.repeat(length - 24)}`
  /** Separated by blanks. */
  const REFUSED: Record<string, string> = {
    'must be a full URL such as https://www.example.com': 'www.example.com //www.example.com /path ? 1:',
    'must use http or https': `
      ftp://www.example.com file:///etc/passwd javascript:alert(1) www.example.com:443`,
    'must name a host': 'https:// https:www.example.com https:///www.example.com',
    'must not contain a user name or password': `
      https://user:password@www.example.com https://@www.example.com https://www.example.com@127.0.0.1`,
    'must not have a path, query or fragment': `
      https://www.example.com/path https://www.example.com// https://www.example.com/?
      https://www.example.com/# https://www.example.com/. ${long(2_048)}`,
    'must be at most 2048 characters': long(2_049),
    'is not a valid URL': `
      https://www.example.com:99999 https://[::1 https://a%00b.example https://[fe80::1%25eth0]`,
    'is not a valid host name': `
      https://a..example.com https://-.example.com https://${'a'.repeat(64)}.example.com`,
    'must not use port 0': 'https://www.example.com:0',
    'must not be an internal address, unless the operator allows it (PREPAINT_ALLOW_PRIVATE_ORIGINS)': `
      http://127.0.0.1:8080 http://0x7f.1 http://2130706433 http://127。0。0。1 http://%31%32%37.0.0.1
      http://169.254.169.254 http://0177.0.0.1 http://[::1] http://①②⑦.0.0.1 http://[::ffff:127.0.0.1]
      http://[64:ff9b::7f00:1] http://[2002:7f00:1::]`,
    'must write an IP address as four decimal numbers': `
      http://010.1.2.3 http://8.8.2056 http://134744072 http://8.8.8.8.:80 http://８.8.8.8`,
    'localhost is not allowed': `
      http://LOCALHOST:3000 http://localhost. http://a.b.localhost. http://ｌocalhost`,
    'internal names are not allowed': `
      http://printer.local http://metadata.google.internal http://public.internal http://nas.home.arpa
      http://nas.home http://nas.lan http://wiki.corp http://x.private http://wiki.intranet
      http://localhost.localdomain http://1.0.0.127.in-addr.arpa`,
    'must be a full domain name': 'http://intranet-host http://web:8080 http://com',
    'the name resolves to an internal address': `
      https://private.example.com https://mixed.example.com https://mapped.example.com
      https://metadata.example.com`,
  }
  const withSpaces = [
    ' https://www.example.com',
    'https://www.example.com\n',
    'https://www.exa\tmple.com',
    'https://www.example.com\\@127.0.0.1',
    'https://www.example.com\0',
    'https://www.example.com\u00a0',
    'ht\ntps://127.0.0.1',
  ]
  const lists = Object.entries(REFUSED).map(
    ([reason, raws]) => [reason, raws.trimStart().split(/[ \n]+/)] as const,
  )
  const all = [
    ['must be a full URL such as https://www.example.com', ['']],
    ...lists,
    ['must not contain spaces, control characters or backslashes', withSpaces],
  ] as const
  for (const [reason, raws] of all) {
    it(reason, async () => {
      for (const raw of raws) assert.deepEqual(await check(raw), { ok: false, reason }, JSON.stringify(raw))
    })
  }
})

describe('with allowed private ranges', () => {
  const allowing = createAddressGuard([
    { cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: 4000 },
    { cidr: ipaddr.parseCIDR('10.1.0.0/16'), port: null },
  ])
  const ACCEPTED = `http://127.0.0.1:4000 http://localhost:4000 http://10.1.2.3:99 https://private.example.com
    http://shop.internal http://web:8080 https://www.example.com`
  const REFUSED = `http://127.0.0.1:4001 http://[::1]:4000 http://[::ffff:127.0.0.1]:4000 http://localhost:4001
    http://app.localhost:4000 https://mixed.example.com http://half.internal http://public.internal`
  for (const [raws, ok] of [
    [ACCEPTED, true],
    [REFUSED, false],
  ] as const)
    for (const raw of raws.split(/\s+/))
      it(`${raw}: ${ok}`, async () => assert.equal((await check(raw, allowing)).ok, ok))
})

describe('host names', () => {
  const READ: [raw: string, kind: 'name' | 'address', text: string][] = [
    ['WWW.Example.COM.', 'name', 'www.example.com'],
    ['_dmarc.a-b.example', 'name', '_dmarc.a-b.example'],
    ['1.2.3.4.example', 'name', '1.2.3.4.example'],
    ['8.8.8.8', 'address', '8.8.8.8'],
    ['[::FFFF:1.2.3.4]', 'address', '::ffff:1.2.3.4'],
  ]
  for (const [raw, kind, text] of READ)
    it(`reads ${raw}`, () => assert.deepEqual(parseHost(raw), { kind, text }))

  it('refuses all else', () => {
    const blanks = ['', 'a b.example', 'a\0.example', 'a\n.example', `${'a.'.repeat(127)}example`]
    const others = `. .. a..b .example example.. -a.example a-.example a/b a@b a:80 a%2e.example bücher.example
      １２７.0.0.1 127。0。0。1 127.1 127.0.0.1. 2130706433 0177.0.0.1 0x7f.1 0x7f000001 example.0x7f example.0x
      example.1 1.2.3.4.5 2606:4700::1111 [2606:4700::1111 [fe80::1%eth0] [127.0.0.1] []`
    for (const raw of [...blanks, ...others.split(/\s+/)])
      assert.equal(parseHost(raw), null, JSON.stringify(raw))
  })

  it('takes 63 characters in a label, 253 in all, and no more', () => {
    const label = (length: number) => parseHost(`${'a'.repeat(length)}.example`)
    assert.deepEqual([label(63) === null, label(64)], [false, null])
    const whole = (last: number) => `${`${'a'.repeat(62)}.`.repeat(3)}${'b'.repeat(60)}.${'c'.repeat(last)}`
    assert.equal(whole(3).length, 253)
    assert.deepEqual([parseHost(whole(3)) === null, parseHost(whole(4))], [false, null])
  })
})

describe('authorities', () => {
  const READ: [raw: string, written: string][] = [
    ['example.com', 'example.com:443'],
    ['example.com:65535', 'example.com:65535'],
    ['[2606:4700::1111]:80', '[2606:4700::1111]:80'],
  ]
  for (const [raw, written] of READ) {
    it(`reads ${raw}`, () => {
      const { host, port } = parseAuthority(raw, 443)!
      assert.equal(`${hostInUrl(host)}:${port}`, written)
    })
  }
  it('refuses all else, and needs a port where there is no default', () => {
    for (const raw of [...':80 a: a:0 a:65536 a:-1 a:80:80 u@a:80 a:80/ a:8O'.split(' '), '', 'a: 80'])
      assert.equal(parseAuthority(raw, 443), null, raw)
    assert.equal(parseAuthority('example.com', null), null)
  })
})
