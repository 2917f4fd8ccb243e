/** Documents that no person writes: deep, wide, long, full of frames or attributes. Another page is rendered after each. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openRenderer, scripted } from '../../test/support/renderer.ts'
import { factsOf } from '../sites/inspection/facts.ts'
import type { RenderOutcome } from './outcome.ts'

const renderer = await openRenderer({ timeoutMs: 20_000, slots: 2 })
renderer.routes.set('/sound', '<!doctype html><p>sound</p>')

async function rendered(script: string): Promise<RenderOutcome> {
  renderer.routes.set('/odd', scripted(script))
  const outcome = await renderer.page('/odd', { domain: 'odd.example' })
  assert.match(await renderer.html('/sound', { domain: 'odd.example' }), /<p>sound<\/p>/)
  return outcome
}

const nested = (depth: number) =>
  `let at = document.body; for (let n = 0; n < ${depth}; n++) at = at.appendChild(document.createElement('div')); at.textContent = 'deep'`

for (const depth of [3_000, 8_000]) {
  it(`${depth} boxes in each other, and the inspection of them`, async () => {
    const outcome = await rendered(nested(depth))
    assert(outcome.kind === 'rendered', JSON.stringify(outcome).slice(0, 200))
    assert.equal(outcome.html.split('<div>').length - 1, depth)
    assert.deepEqual(factsOf(outcome.html, 'https://odd.example/').text, ['deep'])
  })
}

it('100,000 boxes in each other are refused', async () => {
  const { kind } = await rendered(nested(100_000))
  assert(kind === 'crashed' || kind === 'timed-out', kind)
})

it('500 shadow roots in each other', async () => {
  const outcome = await rendered(
    `let at = document.body; for (let n = 0; n < 500; n++) at = at.appendChild(document.createElement('div')).attachShadow({ mode: 'open' }); at.append('deep')`,
  )
  assert(outcome.kind === 'rendered', JSON.stringify(outcome).slice(0, 200))
  assert.match(outcome.html, /deep/)
})

for (const [name, script] of Object.entries({
  '10,000 attributes': `for (let n = 0; n < 10000; n++) document.body.setAttribute('data-' + n, n); show('end')`,
  'an attribute of 5 MB': `document.body.setAttribute('data-x', 'x'.repeat(5e6)); show('end')`,
  '10,000 handlers': `for (let n = 0; n < 10000; n++) out.insertAdjacentHTML('beforeend', '<li onclick="1" onload="2" href="java&#10;script:1">'); show('end')`,
})) {
  it(`${name} are rendered`, async () => {
    const outcome = await rendered(script)
    assert(outcome.kind === 'rendered', JSON.stringify(outcome).slice(0, 200))
    assert.match(outcome.html, /<li>end/)
    assert.doesNotMatch(outcome.html, /onclick/)
  })
}
