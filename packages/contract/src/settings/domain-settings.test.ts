import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { parseDomainName } from './domain-name.ts'
import {
  DEFAULT_DOMAIN_SETTINGS,
  domainSettingsPatchSchema,
  domainSettingsSchema,
  readDomainSettings,
} from './domain-settings.ts'

it('a domain that has set nothing has the defaults; what is stored is kept, what is not understood is read past', () => {
  assert.deepEqual(readDomainSettings({}), DEFAULT_DOMAIN_SETTINGS)
  assert.deepEqual(readDomainSettings(null), DEFAULT_DOMAIN_SETTINGS)
  assert.equal(domainSettingsSchema.safeParse(DEFAULT_DOMAIN_SETTINGS).success, true)
  const settings = readDomainSettings({ fresh_seconds: 'soon', stale_seconds: 7, query: ['page'] })
  assert.deepEqual([settings.fresh_seconds, settings.stale_seconds, settings.query], [86_400, 7, ['page']])
  assert.equal(settings.keep_seconds, 30 * 86_400)
})

/** Null: it is taken. Else the path of the wrong field and what is wrong with it. */
function problem(patch: unknown): string | null {
  const issue = domainSettingsPatchSchema.safeParse(patch).error?.issues[0]
  return issue === undefined ? null : `${issue.path.join('.')} ${issue.message}`
}
const remove = (...patterns: string[]) => ({ crawlers: { remove: patterns } })
const add = (...crawlers: object[]) => ({ crawlers: { add: crawlers } })

const REFUSED_SETTINGS: [patch: object, words: RegExp][] = [
  [{ render: { locale: 'german' } }, /^render\.locale must be a BCP 47 language tag/],
  [{ render: { time_zone: 'Mars/Olympus' } }, /^render\.time_zone must be an IANA time zone/],
  [{ render: { user_agent: 'a\r\nHost: b' } }, /^render\.user_agent must be printable ASCII/],
  [add({ pattern: 'abc', category: 'people' }), /^crawlers\.add\.0\.category /],
  [{ crawlers: { keep: [] } }, /^crawlers /],
  [remove('a*b'), /^crawlers\.remove\.0 must have 3 characters other than \*$/],
  [remove('b\u00f6t bot'), /must be printable ASCII/],
  [{ categories: { ai: 'hide' } }, /^categories\.ai /],
  [{ refresh_ahead_percent: 1.5 }, /^refresh_ahead_percent /],
]
for (const [patch, words] of REFUSED_SETTINGS) {
  it(`refused, and what is wrong is named: ${JSON.stringify(patch)}`, () =>
    assert.match(problem(patch) ?? 'taken', words))
}

const NUMBERS_TAKEN: [what: string, of: (n: number) => object, least: number | null, most: number][] = [
  ['query parameters', (n) => ({ query: Array(n).fill('page') }), null, 100],
  ['characters of a pattern', (n) => remove('a'.repeat(n)), 3, 100],
  ['crawlers removed', (n) => remove(...Array<string>(n).fill('abc')), null, 100],
  ['crawlers added', (n) => add(...Array<object>(n).fill({ pattern: 'abc', category: 'ai' })), null, 100],
  ['percent of the month', (n) => ({ refresh_ahead_percent: n }), 0, 100],
]
for (const [what, of, least, most] of NUMBERS_TAKEN) {
  // Proves decided "Crawler detection"
  it(`taken, and no other: ${least ?? 0} to ${most} ${what}`, () => {
    assert.equal(problem(of(most)), null)
    assert.notEqual(problem(of(most + 1)), null)
    if (least === null) return
    assert.equal(problem(of(least)), null)
    assert.notEqual(problem(of(least - 1)), null)
  })
}

it('docs/configuration.md has every setting once, with its default', () => {
  const text = readFileSync(path.resolve(import.meta.dirname, '../../../../docs/configuration.md'), 'utf8')
  const rows = [...text.matchAll(/^\| `([a-z][a-z0-9_]+)` \| (`.+?`) \|/gm)].map(([, ...row]) => row)
  const defaults = Object.entries(DEFAULT_DOMAIN_SETTINGS)
  assert.deepEqual(
    rows.toSorted(),
    defaults.map(([name, value]) => [name, `\`${JSON.stringify(value)}\``]).toSorted(),
  )
})

const label = (chars: number) => 'a'.repeat(chars)
const LONGEST = `${label(63)}.${label(63)}.${label(63)}.${label(61)}`

// Proves decided "Domain names"
it('domain names are accepted in their one spelling', () => {
  for (const [raw, name] of [
    ['example.com', 'example.com'],
    [' Shop.EXAMPLE.com ', 'shop.example.com'],
    ['example.com.', 'example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    [LONGEST, LONGEST],
    // Soft hyphens are left out of names (UTS 46): 1,000 characters as given.
    [`a${'\u00ad'.repeat(991)}.example`, 'a.example'],
  ] as const) {
    assert.deepEqual(parseDomainName(raw), { ok: true, name })
  }
})

const REFUSED_NAMES: [string, RegExp][] = [
  ['', /empty/],
  [`a${'\u00ad'.repeat(992)}.example`, /at most 253 characters/],
  ['localhost', /two labels/],
  ['127.0.0.1', /not an IP address/],
  ['0x7f.1', /not an IP address/],
  ['１２７.0.0.1', /not an IP address/],
  ['https://example.com', /name only/],
  ['*.example.com', /name only/],
  ['example.com\0', /name only/],
  ['my_shop.example.com', /name only/],
  ['a..example.com', /label|not a valid/],
  ['-a.example.com', /label|not a valid/],
  ['example.123', /number|not a valid/],
  [`${label(64)}.com`, /label|not a valid/],
  [`${LONGEST}a`, /253|not a valid/],
  ['a\ud800.com', /not a valid|label/],
]
for (const [raw, reason] of REFUSED_NAMES) {
  // Proves decided "Domain names"
  it(`a name that is refused, with the reason: ${JSON.stringify(raw.slice(0, 40))}`, () => {
    const result = parseDomainName(raw)
    assert(!result.ok, `${raw} was taken as ${result.ok && result.name}`)
    assert.match(result.reason, reason)
  })
}
