/** Limits of time, before them and past them, while another domain is rendered beside. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { scripted, startTestRenderer } from '../../test/support/renderer.ts'
import type { RenderOutcome } from './outcome.ts'

const FIRST_BYTE_MS = 2_000
const IDLE_MS = 1_500
const TIMEOUT_MS = 6_000

const renderer = await startTestRenderer({
  timeoutMs: TIMEOUT_MS,
  gatewayLimits: { firstByteTimeoutMs: FIRST_BYTE_MS, idleTimeoutMs: IDLE_MS },
})
after(() => renderer.close())
const { routes } = renderer
routes.set('/sound', '<!doctype html><title>t</title><p>sound</p>')
const HTML = { 'content-type': 'text/html' }

async function besideAnother(path: string): Promise<{ outcome: RenderOutcome; tookMs: number }> {
  const beganMs = Date.now()
  let tookMs = 0
  const hostile = renderer.page(path, { domain: 'hostile.example' }).finally(() => {
    tookMs = Date.now() - beganMs
  })
  let others = 0
  do {
    assert.match(await renderer.html('/sound', { domain: 'other.example' }), /<p>sound<\/p>/)
    others++
  } while (tookMs === 0 || others < 2)
  const outcome = await hostile
  assert.match(await renderer.html('/sound', { domain: 'hostile.example' }), /<p>sound<\/p>/)
  return { outcome, tookMs }
}

describe('time to the first byte', () => {
  it('of the page: before the limit it is rendered, past it the outcome says so', async () => {
    routes.set('/late', (_request, response) => {
      setTimeout(() => response.writeHead(200, HTML).end('<!doctype html><p>late</p>'), FIRST_BYTE_MS / 4)
    })
    assert.match(await renderer.html('/late'), /late/)
    routes.set('/never', () => {})
    const { outcome, tookMs } = await besideAnother('/never')
    assert.deepEqual(outcome, { kind: 'origin-unreachable', reason: 'timed-out' })
    assert(tookMs >= Math.min(FIRST_BYTE_MS, IDLE_MS) && tookMs < TIMEOUT_MS, `${tookMs}`)
  })

  it('of something that the page asks for: that fails, and the page goes on', async () => {
    routes.set(
      '/asks',
      scripted(`window.prerenderReady = false
        fetch('/never').then(({ status }) => show('status ' + status), () => show('failed')).finally(() => { window.prerenderReady = true })`),
    )
    assert.match(await renderer.html('/asks'), /status 504/)
  })
})

describe('silence in the middle of the page', () => {
  it('before the limit it is rendered, past it half a page is none', async () => {
    routes.set('/pauses', (_request, response) => {
      response.writeHead(200, HTML).write('<!doctype html><p>half')
      setTimeout(() => response.end(' and half</p>'), IDLE_MS / 4)
    })
    assert.match(await renderer.html('/pauses'), /half and half/)
    routes.set(
      '/half',
      (_request, response) => void response.writeHead(200, HTML).write('<!doctype html><p>half'),
    )
    const { outcome } = await besideAnother('/half')
    assert.equal(outcome.kind, 'origin-unreachable')
  })
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
    const { outcome, tookMs } = await besideAnother('/endless')
    const reason = 'the page did not say that it was ready'
    assert.deepEqual(outcome, { kind: 'timed-out', afterMs: TIMEOUT_MS, reason })
    assert(tookMs >= TIMEOUT_MS, `${tookMs}`)
  })
})
