/** Limits of time, before them and past them, while another domain is rendered beside. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { besideAnother, openRenderer, scripted } from '../../test/support/renderer.ts'

const FIRST_BYTE_MS = 2_000
const IDLE_MS = 1_500
const TIMEOUT_MS = 6_000

const renderer = await openRenderer({
  timeoutMs: TIMEOUT_MS,
  gatewayLimits: { firstByteTimeoutMs: FIRST_BYTE_MS, idleTimeoutMs: IDLE_MS },
})
const { routes } = renderer
const HTML = { 'content-type': 'text/html' }

/** The outcome, and that it did not come before the limit. */
async function beside(path: string, limitMs: number) {
  const beganMs = performance.now()
  const outcome = await besideAnother(renderer, path)
  assert(performance.now() - beganMs >= limitMs)
  return outcome
}

describe('time to the first byte', () => {
  it('of the page: before the limit it is rendered, past it the outcome says so', async () => {
    routes.set('/late', (_request, response) => {
      setTimeout(() => response.writeHead(200, HTML).end('<!doctype html><p>late</p>'), FIRST_BYTE_MS / 4)
    })
    assert.match(await renderer.html('/late'), /late/)
    routes.set('/never', () => {})
    const outcome = await beside('/never', IDLE_MS)
    assert.deepEqual(outcome, { kind: 'origin-unreachable', reason: 'timed-out' })
  })

  it('of something that the page asks for: that fails, and the page goes on', async () => {
    const html = await renderer.htmlOf(`window.prerenderReady = false
      fetch('/never').then(({ status }) => show('status ' + status), () => show('failed')).finally(() => { window.prerenderReady = true })`)
    assert.match(html, /status 504/)
  })
})

it('silence in the middle of the page: before the limit it is rendered, past it half a page is none', async () => {
  routes.set('/pauses', (_request, response) => {
    response.writeHead(200, HTML).write('<!doctype html><p>half')
    setTimeout(() => response.end(' and half</p>'), IDLE_MS / 4)
  })
  assert.match(await renderer.html('/pauses'), /half and half/)
  routes.set(
    '/half',
    (_request, response) => void response.writeHead(200, HTML).write('<!doctype html><p>half'),
  )
  assert.equal((await beside('/half', IDLE_MS)).kind, 'origin-unreachable')
})

describe('time of a render in all', () => {
  const ready = (afterMs: number) => {
    routes.set('/wait', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      // Never silent for long: only the render's own time ends it.
      const drip = setInterval(() => response.write('.'), IDLE_MS / 5)
      const end = setTimeout(() => response.end(), afterMs)
      response.once('close', () => {
        clearInterval(drip)
        clearTimeout(end)
      })
    })
    return scripted(
      `window.prerenderReady = false; fetch('/wait').then((answer) => answer.text()).then(() => { show('done'); window.prerenderReady = true })`,
    )
  }

  it('before the limit it is rendered', async () => {
    routes.set('/slow', ready(TIMEOUT_MS / 3))
    assert.match(await renderer.html('/slow'), /done/)
  })

  it('past it the render ends on time, whatever still comes', async () => {
    routes.set('/endless', ready(TIMEOUT_MS * 10))
    const outcome = await beside('/endless', TIMEOUT_MS)
    const reason = 'the page did not say that it was ready'
    assert.deepEqual(outcome, { kind: 'timed-out', afterMs: TIMEOUT_MS, reason })
  })
})
