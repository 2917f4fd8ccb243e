import assert from 'node:assert/strict'
import { it } from 'node:test'
import { domainSettingsPatchSchema } from '@prepaint/contract/settings/domain-settings.ts'
import { withCrawler, withPerson } from './own-crawlers.ts'

const STORED = { add: [{ pattern: 'OurMonitor', category: 'other' as const }], remove: ['curl'] }

it('a client becomes a crawler, and all other entries of both lists stay', () => {
  const changed = withCrawler(STORED, 'Acme', 'seo')
  assert.deepEqual(changed, { add: [...STORED.add, { pattern: 'Acme', category: 'seo' }], remove: ['curl'] })
  assert.deepEqual(domainSettingsPatchSchema.parse({ crawlers: changed }), { crawlers: changed })
})

it('a client becomes a person, and all other entries of both lists stay', () => {
  assert.deepEqual(withPerson(STORED, 'Acme'), { add: STORED.add, remove: ['curl', 'Acme'] })
  assert.deepEqual(withPerson({}, 'Acme'), { add: [], remove: ['Acme'] })
})

it('a client that changes sides leaves the other list, in any case of letters', () => {
  assert.deepEqual(withCrawler(STORED, 'CURL', 'other').remove, [])
  assert.deepEqual(withPerson(STORED, 'ourmonitor').add, [])
})

it('a crawler that is there already gets the new category', () => {
  assert.deepEqual(withCrawler(STORED, 'ourmonitor', 'ai').add, [{ pattern: 'ourmonitor', category: 'ai' }])
})
