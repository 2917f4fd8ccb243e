import assert from 'node:assert/strict'
import { it } from 'node:test'

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
  assert.deepEqual([rules(100), rules(101), names(100), names(101)], [true, false, true, false])
})
