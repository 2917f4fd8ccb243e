/** Rules of an owner who attacks: they cost the time of that render only. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openRenderer } from '../../test/support/renderer.ts'

const renderer = await openRenderer({ timeoutMs: 8_000, slots: 2 })

const PAGE = (script = '') =>
  `<!doctype html><title>P</title><body><p>Long enough to be the content of a page.</p>${script}`
/** Elements in which each step of a selector has many ways to go on. */
const MAZE = PAGE(`<main></main><script>
  let place = document.querySelector('main')
  for (let depth = 0; depth < 60; depth++) {
    for (let n = 0; n < 90; n++) place.append(document.createElement('i'))
    place = place.appendChild(document.createElement('div'))
  }
</script>`)
// What is missing is looked for last, for every way to what is there.
// What is missing is looked for last, on every way to what is there.
const WAYS = {
  'in :has()': `:has(y ~ ${'* ~ * '.repeat(20)}*)`,
  'in :nth-child()': `:nth-child(n of y ~ ${'* ~ * '.repeat(20)}*)`,
}

describe('selectors with countless ways to match', () => {
  for (const [name, selector] of Object.entries(WAYS)) {
    const remove = Array.from({ length: 50 }, (_, at) => selector.replace('y', `y${at}`))
    for (const [what, rule] of [
      ['waited for', { index: 0, waitFor: selector }],
      ['removed', { index: 0, change: { remove } }],
    ] as const) {
      it(`${name}, ${what}: the render ends in its time, beside one of another domain`, async () => {
        renderer.routes.set('/maze', MAZE)
        renderer.routes.set('/plain', PAGE('<script>0</script>'))
        const hostile = renderer.explained('/maze', { rule })
        const other = await renderer.explained('/plain', { domain: 'blue.example' })
        assert.equal(other.outcome.kind, 'rendered')
        const { outcome } = await hostile
        assert(['timed-out', 'rendered', 'incomplete'].includes(outcome.kind), outcome.kind)
        assert.equal((await renderer.explained('/plain')).outcome.kind, 'rendered')
      })
    }
  }
})
