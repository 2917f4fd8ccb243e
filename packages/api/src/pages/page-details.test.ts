import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openApi, storePages } from '../../../../test/support/api.ts'

const NAME = 'shop.example.com'

const api = await openApi()

it('the details of a page name the rule that says how long it is fresh, if one does', async () => {
  const owner = await api.account()
  const { key } = owner
  const { id } = await api.domain(owner, NAME)
  await storePages(api, id, ['/', '/news/today', '/news/old', '/shop'])
  const rules = [
    { path: '/news/old', render: { wait_ms: 100 } },
    { path: '/news/*', fresh_seconds: 60 },
  ]
  const body = { settings: { fresh_seconds: 7_200, rules } }
  const saved = await api.call('PUT', `/api/domains/${NAME}`, { key, body })
  assert.equal(saved.status, 200, saved.text)
  const found: Record<string, [rule: unknown, freshMs: number]> = {}
  for (const path of ['/', '/news/today', '/news/old']) {
    const details = await api.get(`/api/domains/${NAME}/pages/details?path=${path}`, key)
    const stored = details.body['stored'] as {
      freshness_rule: unknown
      fresh_until: string
      rendered_at: string
    }
    found[path] = [stored.freshness_rule, Date.parse(stored.fresh_until) - Date.parse(stored.rendered_at)]
  }
  // The first rule that matches decides alone, also where it says nothing of freshness.
  assert.deepEqual(found, {
    '/': [null, 7_200_000],
    '/news/today': [1, 60_000],
    '/news/old': [null, 7_200_000],
  })
})
