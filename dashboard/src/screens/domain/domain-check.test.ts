import assert from 'node:assert/strict'
import { it } from 'node:test'

import { findingOf } from './domain-check.ts'

it('says of a field what was found of it', () => {
  const name = (name: string | null, problem: string | null) =>
    findingOf('custom_domain', { custom_domain: { name, problem }, origin_url: null, target: null })
  assert.deepEqual(name('a.example', null), { good: true, words: 'a.example is free' })
  assert.deepEqual(name('a.example', 'is already registered'), {
    good: false,
    words: 'The name is already registered',
  })
  const origin = (found: { problem?: string; status?: number; warning?: string }) =>
    findingOf('origin_url', {
      custom_domain: null,
      origin_url: { url: 'https://o.example', problem: null, status: null, warning: null, ...found },
      target: null,
    })
  assert.deepEqual(origin({ status: 200 }), { good: true, words: 'It answers with status 200' })
  assert.equal(origin({ status: 503 })?.good, false)
  assert.match(
    origin({ warning: 'it takes no connection' })?.words ?? '',
    /can be added, but.*takes no connection/,
  )
  assert.equal(origin({ problem: 'must name a host' })?.words, 'The address must name a host')
  assert.equal(findingOf('origin_url', { custom_domain: null, origin_url: null, target: null }), null)
})
