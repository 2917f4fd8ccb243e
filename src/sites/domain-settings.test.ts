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

it('gives the defaults for a domain that has set nothing', () => {
  assert.deepEqual(readDomainSettings({}), DEFAULT_DOMAIN_SETTINGS)
  assert.deepEqual(readDomainSettings(null), DEFAULT_DOMAIN_SETTINGS)
  assert.equal(domainSettingsSchema.safeParse(DEFAULT_DOMAIN_SETTINGS).success, true)
})

it('keeps what is stored and fills in the rest', () => {
  const settings = readDomainSettings({ fresh_seconds: 5, query: ['page'] })
  assert.equal(settings.fresh_seconds, 5)
  assert.deepEqual(settings.query, ['page'])
  assert.equal(settings.keep_seconds, 30 * 86_400)
})

it('reads past a stored field that it does not understand', () => {
  assert.equal(readDomainSettings({ fresh_seconds: 'soon', stale_seconds: 7 }).fresh_seconds, 86_400)
  assert.equal(readDomainSettings({ fresh_seconds: 'soon', stale_seconds: 7 }).stale_seconds, 7)
})

it('refuses an update with a wrong field, and names it', () => {
  const refused = (patch: unknown) => domainSettingsPatchSchema.safeParse(patch).error?.issues[0]?.path[0]
  assert.equal(domainSettingsPatchSchema.safeParse({}).success, true)
  assert.equal(domainSettingsPatchSchema.safeParse({ fresh_seconds: 0 }).success, true)
  assert.equal(refused({ fresh_seconds: -1 }), 'fresh_seconds')
  assert.equal(refused({ keep_seconds: 1.5 }), 'keep_seconds')
  assert.equal(refused({ query: 'sometimes' }), 'query')
  assert.equal(refused({ rules: [{ path: 'no-slash', action: 'pass' }] }), 'rules')
  assert.equal(domainSettingsPatchSchema.safeParse({ unheard_of: 1 }).success, false)
})

it('has a limit on every list, tested at it and one past it', () => {
  const rules = (count: number) =>
    domainSettingsPatchSchema.safeParse({ rules: Array(count).fill({ path: '/a*', action: 'pass' }) }).success
  const names = (count: number) =>
    domainSettingsPatchSchema.safeParse({ query: Array(count).fill('page') }).success
  assert.deepEqual([rules(200), rules(201), names(100), names(101)], [true, false, true, false])
})

it('takes whom the site shall see, and says what is wrong with it', () => {
  const problem = (render: unknown) => {
    const issue = domainSettingsPatchSchema.safeParse({ render }).error?.issues[0]
    return issue === undefined ? null : `${issue.path.join('.')} ${issue.message}`
  }
  const whole = {
    user_agent: 'Mozilla/5.0 Own/1.0',
    viewport: { width: 412, height: 915 },
    locale: 'de-CH',
    time_zone: 'Europe/Zurich',
  }
  assert.equal(problem(whole), null)
  assert.equal(problem({}), null)
  assert.match(problem({ locale: 'german' }) ?? '', /^render\.locale must be a BCP 47 language tag/)
  assert.match(problem({ time_zone: 'Mars/Olympus' }) ?? '', /^render\.time_zone must be an IANA time zone/)
  assert.match(problem({ time_zone: '+01:00' }) ?? '', /^render\.time_zone must be an IANA time zone/)
  assert.match(problem({ user_agent: 'a\r\nHost: b' }) ?? '', /^render\.user_agent must be printable ASCII/)
  assert.match(problem({ viewport: { width: 0, height: 915 } }) ?? '', /^render\.viewport\.width /)
  assert.match(problem({ cookies: 1 }) ?? '', /^render /)
})

it('has limits for the visitor, tested at each and one past it', () => {
  const takes = (render: unknown) => domainSettingsPatchSchema.safeParse({ render }).success
  const width = (pixels: number) => takes({ viewport: { width: pixels, height: 500 } })
  assert.deepEqual([width(199), width(200), width(4_000), width(4_001)], [false, true, true, false])
  const agent = (chars: number) => takes({ user_agent: 'a'.repeat(chars) })
  assert.deepEqual([agent(0), agent(1), agent(500), agent(501)], [false, true, true, false])
})

it('takes rules with an action, a fresh time or both', () => {
  const problem = (rule: object) =>
    domainSettingsPatchSchema.safeParse({ rules: [{ path: '/a', ...rule }] }).error?.issues[0]?.message ??
    null
  assert.deepEqual(
    [{ action: 'pass' }, { fresh_seconds: 5 }, { action: 'render', fresh_seconds: 5 }].map(problem),
    [null, null, null],
  )
  assert.equal(problem({}), 'must have an action, a lifetime, render or change')
  const path = (chars: number) => problem({ action: 'pass', path: `/${'a'.repeat(chars - 1)}` })
  assert.equal(path(2_048), null)
  assert.notEqual(path(2_049), null)
})

describe('crawlers of a domain', () => {
  const problem = (patch: unknown) => {
    const issue = domainSettingsPatchSchema.safeParse(patch).error?.issues[0]
    return issue === undefined ? null : `${issue.path.join('.')} ${issue.message}`
  }
  const remove = (pattern: string) => problem({ crawlers: { remove: [pattern] } })

  it('are added with a category and removed', () => {
    assert.equal(problem({ crawlers: {} }), null)
    assert.equal(
      problem({ crawlers: { add: [{ pattern: 'MyShop/', category: 'other' }], remove: ['Ahrefs*'] } }),
      null,
    )
    assert.match(
      problem({ crawlers: { add: [{ pattern: 'MyShop/' }] } }) ?? '',
      /^crawlers\.add\.0\.category /,
    )
    assert.match(
      problem({ crawlers: { add: [{ pattern: 'abc', category: 'people' }] } }) ?? '',
      /^crawlers\.add\.0\.category /,
    )
    assert.match(problem({ crawlers: { keep: [] } }) ?? '', /^crawlers /)
  })

  it('have patterns that mean somebody: 3 characters at least, 100 at most, printable', () => {
    assert.equal(remove('abc'), null)
    assert.match(remove('a*b') ?? '', /^crawlers\.remove\.0 must have 3 characters other than \*$/)
    assert.match(remove('*****') ?? '', /must have 3 characters/)
    assert.match(remove('b\u00f6t bot') ?? '', /must be printable ASCII/)
    assert.deepEqual([remove('a'.repeat(100)), remove('a'.repeat(101)) === null], [null, false])
  })

  // Proves decided "Crawler detection"
  it('are at most 100 of each list', () => {
    const lists = (count: number) => [
      problem({ crawlers: { remove: Array(count).fill('abc') } }),
      problem({ crawlers: { add: Array(count).fill({ pattern: 'abc', category: 'ai' }) } }),
    ]
    assert.deepEqual(lists(100), [null, null])
    assert.deepEqual(
      lists(101).map((said) => said === null),
      [false, false],
    )
  })

  it('are rendered for or passed by category', () => {
    assert.equal(problem({ categories: { ai: 'pass', search: 'render' } }), null)
    assert.equal(problem({ categories: {} }), null)
    assert.equal(problem({ categories: { ai: 'block', 'ai-user': 'payment' } }), null)
    assert.match(problem({ categories: { ai: 'hide' } }) ?? '', /^categories\.ai /)
    assert.match(problem({ categories: { people: 'pass' } }) ?? '', /^categories /)
  })
})

it('what the origin says about storing is ignored or respected', () => {
  const takes = (value: unknown) =>
    domainSettingsPatchSchema.safeParse({ origin_cache_control: value }).success
  assert.deepEqual(['ignore', 'respect', 'both', true].map(takes), [true, true, false, false])
})

it('a deploy is acted on or not; of the month 0 to 100 % is spent ahead', () => {
  const takes = (patch: object) => domainSettingsPatchSchema.safeParse(patch).success
  const deploys = [true, false, 'yes'].map((value) => takes({ refresh_on_deploy: value }))
  assert.deepEqual(deploys, [true, true, false])
  const ahead = [0, 100, -1, 101, 1.5].map((value) => takes({ refresh_ahead_percent: value }))
  assert.deepEqual(ahead, [true, true, false, false, false])
})

it('docs/configuration.md has every setting once, with its default', () => {
  const text = readFileSync(path.resolve(import.meta.dirname, '../../docs/configuration.md'), 'utf8')
  const rows = [...text.matchAll(/^\| `([a-z][a-z0-9_]+)` \| `(.+?)` \|/gm)].map(([, name, value]) => [
    name,
    value,
  ])
  const defaults = Object.entries(DEFAULT_DOMAIN_SETTINGS).map(([name, value]) => [
    name,
    JSON.stringify(value),
  ])
  assert.deepEqual(rows.toSorted(), defaults.toSorted())
})
