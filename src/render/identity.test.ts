import assert from 'node:assert/strict'
import { it } from 'node:test'
import { identityOf } from './identity.ts'

// Proves decided "Identity of renders"
for (const [publicUrl, identity] of [
  [null, 'Prepaint/1.2.3'],
  ['http://10.1.2.3:3000', 'Prepaint/1.2.3 (+http://10.1.2.3:3000/bot)'],
  ['https://bücher.example/ü/?a=b#c', 'Prepaint/1.2.3 (+https://xn--bcher-kva.example/%C3%BC/bot)'],
  ['https://owner:secret@render.example', 'Prepaint/1.2.3 (+https://render.example/bot)'],
  ['https://render.example/a)(b', 'Prepaint/1.2.3 (+https://render.example/a%29%28b/bot)'],
] as const)
  it(`what a render says of itself with ${publicUrl}`, () =>
    assert.equal(identityOf({ version: '1.2.3', publicUrl }), identity))
