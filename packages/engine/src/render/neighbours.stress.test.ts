/** What a page makes the browser's own process do for it must not keep that from the pages of others: they share its one main thread. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { factsOf } from '@prepaint/contract/reading/facts.ts'
import { openRenderer, scripted } from '../../../../test/support/renderer.ts'

const renderer = await openRenderer({ slots: 2, timeoutMs: 60_000 })
const brief = await openRenderer({ timeoutMs: 20_000, slots: 2 })
const hasty = await openRenderer({ timeoutMs: 8_000, slots: 2 })
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

function htmlOf(outcome: RenderOutcome): string {
  assert(outcome.kind === 'rendered', JSON.stringify(outcome).slice(0, 300))
  return outcome.html
}

it('a page that writes its address without end is stopped from doing so, as in a browser of people', async () => {
  const outcome = await beside(
    `for (let i = 0; i < 5_000; i++) history.pushState(null, '', '#' + i)
    show('written ' + location.hash)`,
  )
  const written = Number(/written #(\d+)/.exec(htmlOf(outcome))?.[1])
  assert(written > 10 && written < 1_000, `written ${written} times`)
})

describe('what a page says', () => {
  const megabytes = (count: number) =>
    `const line = 'x'.repeat(1024 * 1024); for (let i = 0; i < ${count}; i++) console.log(line); show('said')`

  it('more than a page may: it is ended', async () =>
    assert.deepEqual(await beside(megabytes(70)), { kind: 'too-large', what: 'event-bytes' }))

  it('less: it is rendered, and that does not count for the next one', async () => {
    for (let visit = 0; visit < 2; visit++) assert.match(htmlOf(await beside(megabytes(36))), /said/)
  })

  for (const [name, script] of Object.entries({
    'console lines': `for (let n = 0; n < 1_001; n++) console.error('line ' + n)`,
    'errors and rejections': `for (let n = 0; n < 500; n++) reportError(new Error('e' + n))
      for (let n = 0; n < 501; n++) Promise.reject(new Error('r' + n))`,
  })) {
    it(`${name}: the first 1,000 are recorded`, async () => {
      routes.set('/errors', scripted(`${script}; setTimeout(() => show('end'), 100)`))
      const { outcome, record } = await renderer.explained('/errors', { domain: 'greedy.example' })
      assert.match(htmlOf(outcome), /<li>end/)
      assert.equal(record?.consoleErrors.count, 1_000)
    })
  }
})

it('calls to processes that all pages share: at the limit they work, one past it they are refused', async () => {
  const outcome = await beside(`
    // Makes all calls at once and says how many went through.
    async function tally(name, calls, call) {
      const ends = await Promise.allSettled(Array.from({ length: calls }, async (_, n) => call(n)))
      show(name + ' ' + ends.filter(({ status, value }) => status === 'fulfilled' && value !== false).length)
    }
    (async () => {
    await tally('fetch', 2_500, () => fetch('data:,'))
    await tally('more', 1, () => fetch('data:,'))
    await tally('beacon', 1, () => navigator.sendBeacon('/nothing'))
    await tally('socket', 1, () => new WebSocket('wss://shop.example'))
    await tally('events', 1, () => new EventSource('/nothing'))
    await tally('caches', 1_000, () => caches.keys())
    await tally('locks', 1, () => navigator.locks.query())
    await tally('databases', 1, () => indexedDB.open('x'))
    await tally('workers', 101, () => new Worker('data:text/javascript,').terminate())
    await tally('shared workers', 21, () => new SharedWorker('data:text/javascript,'))
    await tally('storage', 2_501, (n) => localStorage.setItem('a', n))
    await tally('screens', 101, () => document.body.requestFullscreen().catch(({ name }) => name !== 'QuotaExceededError'))
    const link = document.head.appendChild(document.createElement('link'))
    const sheet = document.createElement('link')
    link.rel = 'icon'
    for (let n = 0; n <= 1_000; n++) link.href = sheet.href = '/' + n
    link.setAttribute('href', '/x')
    show([link, sheet].map((one) => one.getAttribute('href')).join())
    for (let n = 0; n <= 1_000; n++) document.cookie = 'a=' + n
    for (let n = 0; n <= 1_000; n++) document.title = 'title ' + n
    show(document.cookie)
    show(WebSocket.prototype.constructor === WebSocket)
  })()`)
  const said = [...htmlOf(outcome).matchAll(/<li>(.*?)<\/li>/g)].map(([, text]) => text)
  assert.deepEqual(said, [
    'fetch 2500',
    'more 0',
    'beacon 0',
    'socket 0',
    'events 0',
    'caches 1000',
    'locks 0',
    'databases 0',
    'workers 100',
    'shared workers 20',
    'storage 2500',
    'screens 100',
    '/998,/1000',
    'a=999',
    'true',
  ])
  assert.match(htmlOf(outcome), /<title>title 999</)
})

brief.routes.set('/sound', '<!doctype html><p>sound</p>')

describe('documents that no person writes: another page is rendered after each', () => {
  async function rendered(script: string): Promise<RenderOutcome> {
    brief.routes.set('/odd', scripted(script))
    const outcome = await brief.page('/odd', { domain: 'odd.example' })
    assert.match(await brief.html('/sound', { domain: 'odd.example' }), /<p>sound<\/p>/)
    return outcome
  }

  const nested = (depth: number) =>
    `let at = document.body; for (let n = 0; n < ${depth}; n++) at = at.appendChild(document.createElement('div')); at.textContent = 'deep'`

  for (const depth of [3_000, 8_000]) {
    it(`${depth} boxes in each other, and the inspection of them`, async () => {
      const html = htmlOf(await rendered(nested(depth)))
      assert.equal(html.split('<div>').length - 1, depth)
      assert.deepEqual(factsOf(html, 'https://odd.example/').text, ['deep'])
    })
  }

  it('100,000 boxes in each other are refused', async () => {
    const { kind } = await rendered(nested(100_000))
    assert(kind === 'crashed' || kind === 'timed-out', kind)
  })
})

describe('selectors of an owner with countless ways to match cost the time of that render only', () => {
  const page = (script: string) =>
    `<!doctype html><title>P</title><body><p>Long enough to be the content of a page.</p><main></main><script>${script}</script>`
  hasty.routes.set('/plain', page('0'))
  /** Elements in which each step of a selector has many ways to go on. */
  hasty.routes.set(
    '/maze',
    page(`let place = document.querySelector('main')
      for (let depth = 0; depth < 60; depth++) {
        for (let n = 0; n < 90; n++) place.append(document.createElement('i'))
        place = place.appendChild(document.createElement('div'))
      }`),
  )
  // What is missing is looked for last, on every way to what is there.
  for (const selector of [
    `:has(y ~ ${'* ~ * '.repeat(20)}*)`,
    `:nth-child(n of y ~ ${'* ~ * '.repeat(20)}*)`,
  ]) {
    const remove = Array.from({ length: 50 }, (_, at) => selector.replace('y', `y${at}`))
    for (const [what, rule] of [
      ['waited for', { index: 0, waitFor: selector }],
      ['removed', { index: 0, change: { remove } }],
    ] as const) {
      it(`${selector.slice(0, 20)}, ${what}: the render ends in its time, beside one of another domain`, async () => {
        const hostile = hasty.explained('/maze', { rule })
        assert.equal((await hasty.page('/plain', { domain: 'blue.example' })).kind, 'rendered')
        const { outcome } = await hostile
        assert(['timed-out', 'rendered', 'incomplete'].includes(outcome.kind), outcome.kind)
        assert.equal((await hasty.page('/plain')).kind, 'rendered')
      })
    }
  }
})
