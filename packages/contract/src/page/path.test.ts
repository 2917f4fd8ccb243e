import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { pick, seededRandom } from '../../../../test/chaos/seeded-random.ts'
import {
  normalisePath,
  normalisePrefix,
  PATH_LIMIT_CHARS,
  parsePageUrl,
  type QueryRule,
  spellingOf,
} from './path.ts'

describe('two spellings of one page are one path', () => {
  const cases: Record<string, [raw: string, path: string]> = {
    'parameters are sorted by name': ['/a?y=2&x=1', '/a?x=1&y=2'],
    'an encoded unreserved character is decoded': ['/%61%2Db%7e', '/a-b~'],
    'hex digits are upper case': ['/caf%c3%a9', '/caf%C3%A9'],
    'a letter outside ASCII is encoded': ['/café', '/caf%C3%A9'],
    'letters that fold to ASCII are not ASCII': ['/ſ\u212a', '/%C5%BF%E2%84%AA'],
    'what RFC 3986 does not allow is encoded': ['/a b"<>\\^`{|}', '/a%20b%22%3C%3E%5C%5E%60%7B%7C%7D'],
    'a lone per cent sign means itself': ['/100%', '/100%25'],
    'dot segments are resolved': ['/a/./b/../c', '/a/c'],
    'encoded dot segments too': ['/a/%2e%2E/c', '/c'],
    'nothing climbs above the root': ['/../../etc/passwd', '/etc/passwd'],
    'a dot segment at the end leaves its slash': ['/a/b/..', '/a/'],
    'click-tracking is removed': ['/a?utm_source=x&id=7&gclid=1&FBCLID=2', '/a?id=7'],
    'an encoded name of click-tracking too': ['/a?utm%5Fsource=x&%67clid=1', '/a'],
    'an empty query is none': ['/a?', '/a'],
    'empty parameters are none': ['/a?&x=1&&', '/a?x=1'],
    'a fragment never reaches an origin': ['/a?x=1#part', '/a?x=1'],
    'brackets in a query': ['/a?f[x]=1', '/a?f%5Bx%5D=1'],
  }
  for (const [name, [raw, path]] of Object.entries(cases)) {
    it(name, () => assert.equal(normalisePath(raw), path))
  }
})

it('two pages are never one path: spelt by other characters, slashes, names or orders', () => {
  const pairs = [
    ...['/a /a/', '/a /A', '/a/b /a//b', '/a/b /a%2Fb', '/a?b=1 /ab=1', '/a?b /a%3Fb', '/a?x /a?x='],
    ...['/a?x=1&x=2 /a?x=2&x=1', '/a?x=1&y=2 /a?x=2&y=1', '/a?x=1%26y=2 /a?x=1&y=2', '/a?x=b+c /a?x=b%2Bc'],
    ...['/a%23b /a#b', '/a%25b /a%b%', '/a?page=1 /a', '/a\\b /a/b', '/..%2Fb /b'],
  ]
  for (const [left = '', right = ''] of pairs.map((pair) => pair.split(' '))) {
    assert.notEqual(normalisePath(left), null)
    assert.notEqual(normalisePath(left), normalisePath(right), left)
  }
})

it('other sites, control characters and broken text are no stored path', () => {
  const raws = ['a', '', 'https://red.example/', '//evil.example/x', '/.//evil.example/x']
  raws.push('/a/..//evil.example/x', '/a\0b', '/a%00b', '/a%7F', '/\ud83d')
  raws.push('/a\r\nSet-Cookie: x', '/a?x=%0d%0A')
  for (const raw of raws) assert.equal(normalisePath(raw), null, raw)
})

it('a path is stored at the limit of length, and not one character past it, in its one spelling', () => {
  const long = `/${'a'.repeat(PATH_LIMIT_CHARS - 1)}`
  assert.equal(normalisePath(long), long)
  assert.equal(normalisePath(`${long}a`), null)
  assert.equal(normalisePath(`/${'é'.repeat(400)}`), null)
  assert.equal(normalisePath(`/a?gclid=${'x'.repeat(PATH_LIMIT_CHARS)}`), '/a')
  assert.equal(normalisePath(`/a?gclid=${'x'.repeat(16_384)}`), null)
})

it('the query rule keeps, ignores or chooses parameters', () => {
  const raw = '/a?page=2&ref=x&f[x]=1&utm_source=mail'
  const cases: [QueryRule, string][] = [
    ['keep', '/a?f%5Bx%5D=1&page=2&ref=x'],
    ['ignore', '/a'],
    [[], '/a'],
    [['page'], '/a?page=2'],
    [['f[x]'], '/a?f%5Bx%5D=1'],
    [['utm_source', 'page'], '/a?page=2&utm_source=mail'],
  ]
  for (const [rule, path] of cases) assert.equal(normalisePath(raw, rule), path)
})

describe('click-tracking parameters', () => {
  const file = path.join(import.meta.dirname, 'click-tracking.json')
  const { names, prefixes } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object>

  it('each click-tracking parameter is removed, in any case, with or without a value', () => {
    for (const name of Object.keys({ ...names, ...prefixes })) {
      const whole = name in prefixes! ? `${name}x` : name
      assert.equal(normalisePath(`/a?${whole}=1&id=7&${whole.toUpperCase()}`), '/a?id=7', name)
      assert.equal(normalisePath(`/a?x${whole}`), `/a?x${whole}`)
    }
  })

  it('parameters that sites use themselves stay', () => {
    const words = 'ref source campaign_id campid clickid cmpid cx igsh spm __s ga_x utm gclid2 __proto__'
    for (const word of words.split(' ')) assert.equal(normalisePath(`/a?${word}=1`), `/a?${word}=1`)
  })
})

describe('properties, over paths made of awkward pieces', () => {
  const pieces = [
    ...['/', '.', '..', '%', '%2', '%2e', '%2F', '%25', '?', '&', '=', '+', '#', 'a', 'B', '7', 'é', 'ſ'],
    ...['😀', ' ', '\\', '%c3%a9', '%FF', 'utm_x=1', 'gclid', '[', ';', '|', '~', '%7e', "'", '*', '%2A'],
  ]
  const random = seededRandom(20_260_101)
  const raws = Array.from({ length: 20_000 }, () => {
    const length = 1 + Math.floor(random() * 12)
    return `/${Array.from({ length }, () => pick(random, pieces)).join('')}`
  })

  it('a normalised path stays as it is when it is normalised again, and is clean', () => {
    let stored = 0
    for (const raw of raws) {
      const path = normalisePath(raw)
      if (path === null) continue
      stored++
      assert.equal(normalisePath(path), path, raw)
      assert.match(path, /^\/(?!\/)[\x21-\x7e]*$/, raw)
      assert.doesNotMatch(path.split('?')[0]!, /\/\.{1,2}(\/|$)/, raw)
    }
    assert(stored > 10_000)
  })

  it('means what the raw path meant, once both are decoded', () => {
    for (const raw of raws.filter((text) => !/[?#]|\/\.|%2e|%FF|%(?!25|2F|2e|c3|a9|7e|2A)/i.test(text))) {
      const path = normalisePath(raw)
      if (path !== null) assert.equal(decodeURIComponent(path), decodeURIComponent(raw), raw)
    }
  })
})

const PAGE_URLS: [url: string, scheme: string, host: string, path: string][] = [
  ['https://shop.example', 'https', 'shop.example', '/'],
  ['http://shop.example/', 'http', 'shop.example', '/'],
  ['HTTPS://Shop.Example:8443/A', 'https', 'Shop.Example:8443', '/A'],
  ['https://shop.example/a?b=https://c/?d#e', 'https', 'shop.example', '/a?b=https://c/?d'],
  ['https://shop.example/%41/../b//c?', 'https', 'shop.example', '/%41/../b//c?'],
  ['https://shop.example/größe und 😀', 'https', 'shop.example', '/gr%C3%B6%C3%9Fe%20und%20%F0%9F%98%80'],
  ['https://shop.example/\ud800', 'https', 'shop.example', '/%EF%BF%BD'],
  ['https://shop.example/?_escaped_fragment_=', 'https', 'shop.example', '/'],
  ['https://shop.example/a?b=1&_escaped_fragment_=', 'https', 'shop.example', '/a?b=1'],
  ['https://shop.example/a?_escaped_fragment_=&b=1', 'https', 'shop.example', '/a?b=1'],
  ['https://shop.example/?_escaped_fragment_=/a', 'https', 'shop.example', '/?_escaped_fragment_=/a'],
  ['https://[::1]/', 'https', '[::1]', '/'],
]
it('the URL of a page has a scheme, a host, and a path without the flag of the AJAX crawling scheme', () => {
  for (const [url, scheme, host, path] of PAGE_URLS)
    assert.deepEqual(parsePageUrl(url), { scheme, host, path })
})

const NO_PAGE_URLS = [
  ...['', '/', 'shop.example/', 'ftp://shop.example/', 'https:/shop.example/', 'https:///path'],
  ...['https://user:password@shop.example/', 'https://shop.example\\@other.example/'],
  ...['https://shop example/', ' https://shop.example/', 'javascript://shop.example/%0aalert(1)'],
]
it('a text that is no URL of a page is refused', () => {
  for (const url of NO_PAGE_URLS) assert.equal(parsePageUrl(url), null, url)
})

it('a prefix is spelt as stored paths are', () => {
  assert.equal(normalisePrefix('/caf%c3%a9/'), '/caf%C3%A9/')
  assert.equal(normalisePrefix('/a/../b'), '/b')
  assert.equal(normalisePrefix('/a?'), '/a?')
  assert.equal(normalisePrefix('/a?p=é'), '/a?p=%C3%A9')
  assert.equal(normalisePrefix('//evil.example'), null)
  assert.equal(normalisePrefix('a'), null)
})

it('the spelling of an address keeps order and letters, loses what does not count, and names the same page', () => {
  const rows: [raw: string, spelling: string | null, query?: QueryRule][] = [
    ['/a?z=1&a=2&z=0', '/a?z=1&a=2&z=0'],
    ['/%c3%bc?b&a=%7e', '/%c3%bc?b&a=%7e'],
    ['/a?z=1&utm_source=x&&fbclid=1&a=2#top', '/a?z=1&a=2'],
    ['/a?gclid=1', '/a'],
    ['/a?z=1&a=2&b=3', '/a?z=1&a=2', ['a', 'z']],
    ['/a?z=1', '/a', 'ignore'],
    ['//a?b', null],
    ['/a%00', null],
    [`/${'a'.repeat(PATH_LIMIT_CHARS - 1)}`, `/${'a'.repeat(PATH_LIMIT_CHARS - 1)}`],
    [`/${'a'.repeat(PATH_LIMIT_CHARS)}`, null],
  ]
  for (const [raw, spelling, query] of rows) {
    assert.equal(spellingOf(raw, query), spelling, raw)
    if (spelling !== null) assert.equal(normalisePath(spelling, query), normalisePath(raw, query))
  }
})
