import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { RenderRule } from '@prepaint/contract/outcome/outcome.ts'
import { readPage } from '@prepaint/runtime/read-page.ts'
import { withChanges } from './rule.ts'

it('a rule of an earlier version sets its headers but for those that rules may no longer set', () => {
  const html = '<!doctype html><p>Text</p>'
  const rule: RenderRule = { index: 0, change: { headers: { 'Report-To': '{}', 'X-Robots-Tag': 'none' } } }
  const url = 'https://shop.example/'
  const changed = withChanges(
    { kind: 'rendered', status: 200, headers: [['x-robots-tag', 'all']], html, reading: readPage(html, url) },
    {
      snapshot: { kind: 'html', html, headers: [], statusCode: null, blank: false, unscripted: false },
      rule,
      url,
    },
  )
  assert(changed.kind === 'rendered')
  assert.deepEqual(changed.changed?.headers, [['X-Robots-Tag', 'none']])
  assert.deepEqual(changed.changed?.changes.headers, ['X-Robots-Tag'])
})
