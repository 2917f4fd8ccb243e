/** What is written down of a render: phases, requests, errors, and why the page was taken when it was. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PHASES } from '@prepaint/contract/outcome/record.ts'
import { openRenderer, scripted, slowJson } from '../../../../../test/support/renderer.ts'
import * as recorder from './recorder.ts'

const renderer = await openRenderer({ timeoutMs: 30_000 })
const { routes, asked } = renderer
routes.set('/slow', slowJson(60, 1))

let count = 0
async function recordOf(script: string, by = renderer) {
  const path = `/page-${++count}`
  by.routes.set(path, scripted(`show('a'); ${script}`))
  const { outcome, record } = await by.explained(path)
  return { ...record!, outcome: outcome.kind }
}

describe('the record of a render', () => {
  it('has every phase of a page, in order, with its size', async () => {
    const { phases, outcome, htmlBytes } = await recordOf(`fetch('/slow').then(() => show('loaded'))`)
    const times = PHASES.map((phase) => phases[phase])
    const reached = times.filter((time) => time !== null)
    assert.deepEqual(
      times,
      reached.toSorted((one, other) => one - other),
    )
    assert(Number(phases.settled) - Number(phases.firstResponse) >= 50, JSON.stringify(phases))
    assert.equal(outcome, 'rendered')
    assert(Number(htmlBytes) > 50)
  })

  it('says why the page was taken', async () => {
    routes.set('/never', () => {})
    for (const [capture, script] of [
      ['budget', ''],
      ['ready-signal', `window.prerenderReady = false; setTimeout(() => { prerenderReady = true }, 100)`],
      ['idle', `new EventSource('/never')`],
    ] as const)
      assert.equal((await recordOf(script)).capture, capture)
  })

  it('counts requests, names those that failed, were blocked or were refused, and keeps errors', async () => {
    const { troubles, requests, consoleErrors } = await recordOf(
      `fetch('/slow'); fetch('/absent'); fetch('http://10.0.0.1/inside').catch(() => {})
        fetch('https://www.google-analytics.com/collect').catch(() => {})
        new Audio('/sound.mp3').load(); new FontFace('x', 'url(/font.woff2)').load().catch(() => {})
        console.log('fine'); console.error('broken', 7, 'a\\0b'); setTimeout(() => { lost() })`,
    )
    const reasons = Object.fromEntries(
      troubles.map(({ url, kind, reason }) => [new URL(url).pathname, `${kind} ${reason}`]),
    )
    assert.equal(reasons['/absent'], 'failed status 404')
    assert.match(reasons['/collect'] ?? '', /^blocked its host is on the list/)
    assert.match(reasons['/inside'] ?? '', /^(blocked|failed) ./)
    assert.equal(reasons['/font.woff2'], 'blocked not needed')
    assert(!asked.includes('/sound.mp3') && !asked.includes('/font.woff2'))
    assert.equal(reasons['/slow'], undefined)
    assert.equal(requests.made, 6)
    assert.equal(requests.blocked + requests.failed, troubles.length)
    const { count, texts } = consoleErrors
    const lost = texts.find((text) => text.includes('ReferenceError: lost is not defined'))
    assert.deepEqual([count, texts[0], lost === undefined], [2, 'broken 7 ab', false])
  })

  it('explains a render without a page: what was reached, and no more', async (t) => {
    const impatient = await openRenderer({ timeoutMs: 3_000 }, t)
    // The start of the browser counts in no limit below.
    await impatient.explained('/')
    const { outcome, capture, phases, htmlBytes } = await recordOf(`while (true) {}`, impatient)
    assert.deepEqual([outcome, capture, phases.settled, htmlBytes], ['timed-out', null, null, null])
    assert(Number(phases.snapshot) >= 2_900)
  })
})

it('its limits: the first troubles and errors are listed, their texts and URLs cut; all are counted', async () => {
  const [asks, cries] = [recorder.TROUBLES_LIMIT + 1, recorder.CONSOLE_ERRORS_LIMIT + 1]
  const { requests, troubles, consoleErrors } = await recordOf(
    `for (let i = 0; i < ${asks}; i++) fetch('/absent?' + i + 'x'.repeat(400))
     for (let i = 0; i < ${cries}; i++) console.error('x'.repeat(9000))`,
  )
  assert.deepEqual([requests.failed, consoleErrors.count], [asks, cries])
  assert.deepEqual([troubles.length, troubles[0]?.url.length], [asks - 1, 300])
  assert.deepEqual([consoleErrors.texts.length, consoleErrors.texts[0]?.length], [cries - 1, 500])
})

it('an application is named by its scripts and style sheets, in any order and however often; without any there is no name', () => {
  function nameOf(files: readonly string[], type = 'Script'): string | null {
    const application = new recorder.Application()
    for (const url of files) application.requested(type, url)
    return application.name()
  }
  const name = nameOf(['/app-1.js', '/app-1.css'])
  assert.match(name ?? '', /^[\w-]{16}$/)
  assert.equal(nameOf(['/app-1.css', '/app-1.js', '/app-1.js']), name)
  assert.equal(nameOf(['/app-1.js', '/app-1.css'], 'Stylesheet'), name)
  assert.notEqual(nameOf(['/app-1.js']), name)
  assert.equal(nameOf(['/a'], 'Fetch'), null)
})
