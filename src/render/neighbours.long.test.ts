/** What a page makes the browser's own process do for it must not keep that from the pages of others: they share its one main thread. */
import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { scripted, startTestRenderer } from '../../test/support/renderer.ts'
import type { RenderOutcome } from './outcome.ts'

const renderer = await startTestRenderer({ slots: 2, timeoutMs: 60_000 })
after(() => renderer.close())
const { routes } = renderer
routes.set('/neighbour', '<!doctype html><p>content of a neighbour</p>')

/** Renders it beside a neighbour's page, again and again: every one of these comes out, and all in one browser. */
async function beside(script: string): Promise<RenderOutcome> {
  routes.set('/greedy', scripted(script))
  let isOver = false
  const outcome = renderer.page('/greedy', { domain: 'greedy.example' }).finally(() => {
    isOver = true
  })
  do {
    assert.match(await renderer.html('/neighbour', { domain: 'neighbour.example' }), /content of a neighbour/)
  } while (!isOver)
  assert.equal(renderer.renderer.browsers.started, 1)
  return outcome
}

it('a page that writes its address without end is stopped from doing so, as in a browser of people', async () => {
  const outcome = await beside(
    `for (let i = 0; i < 5_000; i++) history.pushState(null, '', '#' + i)
    show('written ' + location.hash)`,
  )
  assert(outcome.kind === 'rendered')
  const written = Number(/written #(\d+)/.exec(outcome.html)?.[1])
  assert(written > 10 && written < 1_000, `written ${written} times`)
})

const MEGABYTE_LINES = (count: number) =>
  `const line = 'x'.repeat(1024 * 1024); for (let i = 0; i < ${count}; i++) console.log(line); show('said')`

it('a page that says more than a page may is ended for it', async () => {
  assert.deepEqual(await beside(MEGABYTE_LINES(70)), { kind: 'too-large', what: 'event-bytes' })
})

it('a page that says less is rendered, and what it says does not count for the next one', async () => {
  for (let visit = 0; visit < 2; visit++) {
    const outcome = await beside(MEGABYTE_LINES(36))
    assert(outcome.kind === 'rendered' && /said/.test(outcome.html), JSON.stringify(outcome))
  }
})

it('what the workers of a page say is said by the page', async () => {
  const worker = `for (let i = 0; i < 12; i++) fetch('data:text/plain,' + i + 'x'.repeat(7 * 1024 * 1024))`
  const outcome = await beside(
    `window.prerenderReady = false
    new Worker(URL.createObjectURL(new Blob([${JSON.stringify(worker)}])))`,
  )
  assert.deepEqual(outcome, { kind: 'too-large', what: 'event-bytes' })
})

it('one thing that is too large to be told is not told, and the page goes on', async () => {
  const outcome = await beside(
    `fetch('data:text/plain,' + 'x'.repeat(20 * 1024 * 1024))
      .then((answer) => answer.text())
      .then((text) => show('got ' + text.length))`,
  )
  assert(outcome.kind === 'rendered' && /got 20971520/.test(outcome.html), JSON.stringify(outcome))
})
