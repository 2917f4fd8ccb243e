import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'

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
const rule = (fields: object) => ({ rules: [{ path: '/a', ...fields }] })
const remove = (...patterns: string[]) => ({ crawlers: { remove: patterns } })
const add = (fields: object) => ({ crawlers: { add: [fields] } })

describe('an update is taken', () => {
  const taken: object[] = [
    {},
    { fresh_seconds: 0 },
    { render: {} },
    {
      render: {
        ...{ user_agent: 'Mozilla/5.0 Own/1.0', viewport: { width: 412, height: 915 } },
        ...{ locale: 'de-CH', time_zone: 'Europe/Zurich' },
      },
    },
    rule({ action: 'pass' }),
    rule({ fresh_seconds: 5 }),
    rule({ action: 'render', fresh_seconds: 5 }),
    { crawlers: {} },
    { crawlers: { add: [{ pattern: 'MyShop/', category: 'other' }], remove: ['Ahrefs*'] } },
    { categories: {} },
    { categories: { ai: 'pass', search: 'render' } },
    { categories: { ai: 'block', 'ai-user': 'payment' } },
    { origin_cache_control: 'ignore' },
    { origin_cache_control: 'respect' },
    { refresh_on_deploy: true },
    { refresh_on_deploy: false },
  ]
  for (const patch of taken) it(JSON.stringify(patch), () => assert.equal(problem(patch), null))
})

describe('an update is refused, and what is wrong is named', () => {
  const refused: [patch: object, words: RegExp][] = [
    [{ render: { locale: 'german' } }, /^render\.locale must be a BCP 47 language tag/],
    [{ render: { time_zone: 'Mars/Olympus' } }, /^render\.time_zone must be an IANA time zone/],
    [{ render: { time_zone: '+01:00' } }, /^render\.time_zone must be an IANA time zone/],
    [{ render: { user_agent: 'a\r\nHost: b' } }, /^render\.user_agent must be printable ASCII/],
    [{ render: { viewport: { width: 0, height: 915 } } }, /^render\.viewport\.width /],
    [{ render: { cookies: 1 } }, /^render /],
    [add({ pattern: 'MyShop/' }), /^crawlers\.add\.0\.category /],
    [add({ pattern: 'abc', category: 'people' }), /^crawlers\.add\.0\.category /],
    [{ crawlers: { keep: [] } }, /^crawlers /],
    [remove('a*b'), /^crawlers\.remove\.0 must have 3 characters other than \*$/],
    [remove('*****'), /must have 3 characters/],
    [remove('b\u00f6t bot'), /must be printable ASCII/],
    [{ categories: { ai: 'hide' } }, /^categories\.ai /],
    [{ origin_cache_control: true }, /^origin_cache_control /],
    [{ refresh_on_deploy: 'yes' }, /^refresh_on_deploy /],
    [{ refresh_ahead_percent: 1.5 }, /^refresh_ahead_percent /],
  ]
  for (const [patch, words] of refused) {
    it(JSON.stringify(patch), () => assert.match(problem(patch) ?? 'taken', words))
  }
})

// Proves decided "Crawler detection"
describe('limits are taken, and one past them is not', () => {
  const width = (pixels: number) => ({ render: { viewport: { width: pixels, height: 500 } } })
  const limits: [what: string, of: (n: number) => object, least: number | null, most: number][] = [
    ['rules', (n) => ({ rules: Array(n).fill({ path: '/a*', action: 'pass' }) }), null, 200],
    ['characters of a path', (n) => rule({ action: 'pass', path: `/${'a'.repeat(n - 1)}` }), null, 2_048],
    ['query parameters', (n) => ({ query: Array(n).fill('page') }), null, 100],
    ['pixels of width', width, 200, 4_000],
    ['characters of a user agent', (n) => ({ render: { user_agent: 'a'.repeat(n) } }), 1, 500],
    ['characters of a pattern', (n) => remove('a'.repeat(n)), 3, 100],
    ['crawlers removed', (n) => remove(...Array<string>(n).fill('abc')), null, 100],
    [
      'crawlers added',
      (n) => ({ crawlers: { add: Array(n).fill({ pattern: 'abc', category: 'ai' }) } }),
      null,
      100,
    ],
    ['percent of the month', (n) => ({ refresh_ahead_percent: n }), 0, 100],
  ]
  for (const [what, of, least, most] of limits) {
    it(`${least ?? 0} to ${most} ${what}`, () => {
      assert.equal(problem(of(most)), null)
      assert.notEqual(problem(of(most + 1)), null)
      if (least === null) return
      assert.equal(problem(of(least)), null)
      assert.notEqual(problem(of(least - 1)), null)
    })
  }
})

it('docs/configuration.md has every setting once, with its default', () => {
  const text = readFileSync(path.resolve(import.meta.dirname, '../../docs/configuration.md'), 'utf8')
  const rows = [...text.matchAll(/^\| `([a-z][a-z0-9_]+)` \| (`.+?`) \|/gm)].map(([, ...row]) => row)
  const defaults = Object.entries(DEFAULT_DOMAIN_SETTINGS)
  assert.deepEqual(
    rows.toSorted(),
    defaults.map(([name, value]) => [name, `\`${JSON.stringify(value)}\``]).toSorted(),
  )
})
