import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inParts } from '../../../../../test/render/corpus-page.ts'
import { openRenderer, scripted, slowJson } from '../../../../../test/support/renderer.ts'

const { routes, html } = await openRenderer({ slots: 4, timeoutMs: 10_000 })
routes.set('/slow', slowJson(40, 'late'))
routes.set('/pieces', inParts(['piece 6', 'piece 5', 'piece 4', 'piece 3', 'piece 2', 'piece 1'], 120))
routes.set('/never', () => {})

/** The HTML of a page of its own. */
function htmlOf(name: string, script: string): Promise<string> {
  const path = `/${encodeURIComponent(name)}`
  routes.set(path, scripted(script))
  return html(path)
}

/** Each script shows `late` when all is there, which has to be in the snapshot. More such pages are in test/render/corpus/. */
const complete: Record<string, string> = {
  'a timer of 4.5 s': `setTimeout(() => show('late'), 4500)`,
  'a fetch that is not read, and then one that is read by and by while it still comes': `fetch('/slow').then(() => fetch('/pieces')).then(async ({ body }) => {
      const reader = body.getReader()
      for (let text = ''; ; ) {
        await new Promise((resolve) => setTimeout(resolve, 300))
        const { done, value } = await reader.read()
        if (done) return show(text.endsWith('piece 1') ? 'late' : text)
        text += new TextDecoder().decode(value)
      }
    })`,
  'a fetch that is read after files have been': `fetch('/slow').then(async (answer) => {
      for (let file = 0; file < 8; file++)
        await new Promise((resolve) => {
          const reader = new FileReader()
          reader.onload = resolve
          reader.readAsText(new Blob(['x'.repeat(5e5)]))
        })
      show(await answer.json())
    })`,
  'an answer that a cache is filled with': `caches.open('one').then(async (cache) => {
      await cache.add('/pieces')
      show((await (await cache.match('/pieces')).text()).endsWith('piece 1') ? 'late' : 'half')
    })`,
  'the end of a transition': `const box = document.createElement('div'); box.style.cssText = 'transition: opacity 300ms; opacity: 0'
      document.body.append(box); box.getBoundingClientRect(); box.ontransitionend = () => show('late')
      setTimeout(() => { box.style.opacity = 1 }, 50)`,
  'a key made by cryptography': `crypto.subtle.generateKey({ name: 'RSASSA-PKCS1-v1_5', modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }, true, ['sign'])
      .then(() => show('late'))`,
  'a page that holds the capture longer than its time': `window.prerenderReady = false; setTimeout(() => { show('late'); window.prerenderReady = true }, 9000)`,
  'the other spellings of the same': `window.renderComplete = false; window.renderReady = false
      setTimeout(() => { window.renderComplete = true }, 100); setTimeout(() => { show('late'); window.renderReady = true }, 8000)`,
  'a flag that is true while another is false': `window.prerenderReady = false; window.renderReady = true
      setTimeout(() => { show('late'); window.prerenderReady = true }, 1000)`,
}

describe('what a page still does is in its snapshot', { concurrency: 2 }, () => {
  for (const [name, script] of Object.entries(complete))
    it(name, async () => assert.match(await htmlOf(name, script), /<li>late<\/li>/))

  it('polling for ever: some rounds, and an end', async () => {
    const poll = `fetch('/slow?poll').then((r) => r.json()).then(() => show('round ' + ++n))`
    assert.match(await htmlOf('poll', `let n = 0; setInterval(() => ${poll}, 500)`), /round 5/)
  })

  const timers = `let n = 0; const tick = () => ++n < 30 ? setTimeout(tick, 10) : show('late'); tick()`
  const frames = `let n = 0; requestAnimationFrame(function step() { ++n < 20 ? requestAnimationFrame(step) : show('late') })`
  for (const [flag, name, script] of [
    ['renderComplete', 'a timer of 0.3 s', `setTimeout(() => show('late'), 300)`],
    ['renderReady', 'timers', timers],
    ['prerenderReady', 'animation frames', frames],
    ['prerenderReady', 'idle callbacks', `setTimeout(() => requestIdleCallback(() => show('late')), 300)`],
  ] as const)
    it(`what comes after ${flag}: ${name} are not in the page, and the rest of its frame is`, async () => {
      const rest = `requestAnimationFrame(() => Promise.resolve().then(() => show('now')))`
      const set = `setTimeout(() => { window.${flag} = true; ${script}; ${rest} }, 500)`
      const html = await htmlOf(`${flag} ${name}`, set)
      assert.match(html, /<li>now/)
      assert.doesNotMatch(html, /<li>late/)
    })
})
