import assert from 'node:assert/strict'
import { it } from 'node:test'

import { parseEdgeTarget } from './config.ts'

it('a host name, or addresses; nothing else', () => {
  assert.deepEqual(parseEdgeTarget('Edge.Example.net'), { host: 'edge.example.net', addresses: [] })
  assert.deepEqual(parseEdgeTarget('203.0.113.5, 2001:db8::5'), {
    host: null,
    addresses: ['203.0.113.5', '2001:db8::5'],
  })
  for (const wrong of [
    'edge',
    'https://edge.example.net',
    'a.example,b.example',
    '203.0.113.5,edge.example',
    '1.2.3',
    ',',
    'a b.example',
  ]) {
    assert.equal(parseEdgeTarget(wrong), null, wrong)
  }
})
