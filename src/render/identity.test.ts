import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { identityOf } from './identity.ts'

// Proves decided "Identity of renders"
describe('what a render says of itself', () => {
  const cases: [publicUrl: string | null, identity: string][] = [
    [null, 'Prepaint/1.2.3'],
    ['https://render.example', 'Prepaint/1.2.3 (+https://render.example/bot)'],
    ['http://10.1.2.3:3000', 'Prepaint/1.2.3 (+http://10.1.2.3:3000/bot)'],
    ['https://example.com/tools/render/', 'Prepaint/1.2.3 (+https://example.com/tools/render/bot)'],
    ['https://bücher.example/ü?a=b#c', 'Prepaint/1.2.3 (+https://xn--bcher-kva.example/%C3%BC/bot)'],
    ['https://owner:secret@render.example', 'Prepaint/1.2.3 (+https://render.example/bot)'],
    ['https://render.example/a)(b', 'Prepaint/1.2.3 (+https://render.example/a%29%28b/bot)'],
  ]
  for (const [publicUrl, identity] of cases) {
    it(String(publicUrl), () => assert.equal(identityOf({ version: '1.2.3', publicUrl }), identity))
  }
})
