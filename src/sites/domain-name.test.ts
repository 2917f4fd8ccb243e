import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { parseDomainName } from './domain-name.ts'

const label = (chars: number) => 'a'.repeat(chars)
const LONGEST = `${label(63)}.${label(63)}.${label(63)}.${label(61)}`

// Proves decided "Domain names"
describe('names that are taken, in their one spelling', () => {
  const cases: [string, string][] = [
    ['example.com', 'example.com'],
    [' Shop.EXAMPLE.com ', 'shop.example.com'],
    ['example.com.', 'example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    ['1.2.3.4.example', '1.2.3.4.example'],
    [`${label(63)}.com`, `${label(63)}.com`],
    [LONGEST, LONGEST],
    // Soft hyphens are left out of names (UTS 46): 1,000 characters as given.
    [`a${'\u00ad'.repeat(991)}.example`, 'a.example'],
  ]
  for (const [raw, name] of cases) {
    it(`${raw.slice(0, 40)} is ${name.slice(0, 40)}`, () => {
      assert.deepEqual(parseDomainName(raw), { ok: true, name })
    })
  }
})

// Proves decided "Domain names"
describe('names that are refused, with the reason', () => {
  const cases: [string, RegExp][] = [
    ['', /empty/],
    [`a${'\u00ad'.repeat(992)}.example`, /at most 253 characters/],
    ['localhost', /two labels/],
    ['com.', /two labels/],
    ['127.0.0.1', /not an IP address/],
    ['[::1]', /not an IP address/],
    ['::1', /not an IP address/],
    ['0x7f.1', /not an IP address/],
    ['127.1', /not an IP address/],
    ['１２７.0.0.1', /not an IP address/],
    ['https://example.com', /name only/],
    ['example.com:8080', /name only/],
    ['example.com/path', /name only/],
    ['user@example.com', /name only/],
    ['*.example.com', /name only/],
    ['exa mple.com', /name only/],
    ['example.com\0', /name only/],
    ['ex%61mple.com', /name only/],
    ['my_shop.example.com', /name only/],
    ['a..example.com', /label|not a valid/],
    ['.example.com', /label|not a valid/],
    ['-a.example.com', /label|not a valid/],
    ['a-.example.com', /label|not a valid/],
    ['example.123', /number|not a valid/],
    [`${label(64)}.com`, /label|not a valid/],
    [`${LONGEST}a`, /253|not a valid/],
    [`${label(2_000)}.com`, /253/],
    ['a\ud800.com', /not a valid|label/],
  ]
  for (const [raw, reason] of cases) {
    it(JSON.stringify(raw.slice(0, 40)), () => {
      const result = parseDomainName(raw)
      assert(!result.ok, `${raw} was taken as ${result.ok && result.name}`)
      assert.match(result.reason, reason)
    })
  }
})
