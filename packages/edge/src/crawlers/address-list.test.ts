import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LIST_LIMIT_BYTES, NotAnAddressList, parseAddressList, RANGES_LIMIT } from './address-list.ts'

describe('a list of ranges', () => {
  it('is read in the JSON of each owner, and as text with a range on each line', () => {
    const forms = {
      'Google, Bing, OpenAI, Perplexity, Apple, DuckDuckGo, Common Crawl': JSON.stringify({
        creationTime: '2026-01-01T00:00:00.000000',
        prefixes: [{ ipv4Prefix: '192.0.2.0/24' }, { ipv6Prefix: '2001:db8:4000::/36' }],
      }),
      Amazon: JSON.stringify({
        prefixes: [{ ip_prefix: '192.0.2.0/24', region: 'GLOBAL', service: 'X' }],
        ipv6_prefixes: [{ ipv6_prefix: '2001:db8:4000::/36', region: 'GLOBAL' }],
      }),
      array: JSON.stringify(['192.0.2.0/24', '2001:db8:4000::/36']),
      lines: '# ranges\n192.0.2.0/24  # all of it\n\n2001:db8:4000::/36\n',
    }
    for (const [form, text] of Object.entries(forms)) {
      const list = parseAddressList(text)
      assert.equal(list.ranges, 2, form)
      for (const address of ['192.0.2.0', '192.0.2.255', '2001:db8:4fff:ffff::1'])
        assert(list.has(address), `${form}: ${address}`)
      for (const address of ['192.0.3.0', '2001:db8:5000::1', 'nonsense', ''])
        assert(!list.has(address), `${form}: ${address}`)
    }
  })

  it('contains a single address, an address behind a byte order mark, and IPv4 addresses that are written as IPv6', () => {
    const found = (list: string, ...asked: string[]) => asked.filter((one) => parseAddressList(list).has(one))
    const one = '\uFEFF{"ips": [{"ip_address": "192.0.2.7"}]}'
    assert.deepEqual(found(one, '192.0.2.7', '192.0.2.8'), ['192.0.2.7'])
    assert.deepEqual(found('::/19', '203.0.113.9', '::7'), ['::7'])
    const mapped = '::ffff:192.0.2.0/120\n::ffff:c633:6407'
    const asked = ['192.0.2.1', '192.0.3.1', '198.51.100.7', '198.51.100.8']
    assert.deepEqual(found(mapped, ...asked), ['192.0.2.1', '198.51.100.7'])
  })

  it('is refused if it is no list of ranges, or if a range is too wide', () => {
    const refused: [text: string, why: RegExp][] = [
      ['', /has no ranges/],
      ['{"prefixes": [', /is no JSON/],
      ['<html>Not found</html>', /"<html>Not found<\/html>" is neither an address nor a range/],
      ['{"prefixes": [{"ipv4Prefix": "192.0.2.0/33"}]}', /more than 32 bits/],
      ['192.0.2', /neither an address nor a range/],
      ['8.0.0.0/7', /"8.0.0.0\/7" is too wide: \/8 at most/],
      ['::ffff:8.0.0.0/103', /too wide: \/8 at most/],
      ['2000::/18', /too wide: \/19 at most/],
    ]
    for (const [text, message] of refused)
      assert.throws(() => parseAddressList(text), { name: 'NotAnAddressList', message })
  })

  it('is read at its limits of length and ranges, and refused one past them', () => {
    assert.equal(parseAddressList('8.0.0.0/8\n::ffff:8.0.0.0/104\n2000::/19').ranges, 3)
    const many = (count: number) =>
      parseAddressList(Array.from({ length: count }, (_, at) => `10.${at >> 8}.${at & 255}.0/24`).join('\n'))
    assert.equal(many(RANGES_LIMIT).ranges, RANGES_LIMIT)
    assert.throws(() => many(RANGES_LIMIT + 1), NotAnAddressList)
    const long = (bytes: number) => parseAddressList('192.0.2.0/24\n#'.padEnd(bytes, 'x'))
    assert.equal(long(LIST_LIMIT_BYTES).ranges, 1)
    assert.throws(() => long(LIST_LIMIT_BYTES + 1), /longer than 1 MiB/)
  })
})
