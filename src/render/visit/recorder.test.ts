/** What is written down of a render: phases, requests, errors, and why the page was taken when it was. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openRenderer, scripted, slowJson } from '../../../test/support/renderer.ts'
import { PHASES, type RenderRecord } from '../record.ts'
import {
  Application,
  CONSOLE_ERRORS_LIMIT,
  FILE_URL_LIMIT_CHARS,
  FILES_LIMIT,
  TROUBLES_LIMIT,
} from './recorder.ts'

const renderer = await openRenderer({ timeoutMs: 3_000 })
const { routes, asked } = renderer

let count = 0
async function recordOf(page: string): Promise<RenderRecord & { outcome: string }> {
  const path = `/page-${++count}`
  routes.set(path, page)
  const { outcome, record } = await renderer.explained(path)
  assert(record !== null)
  return { ...record, outcome: outcome.kind }
}

describe('the record of a render', () => {
  it('has every phase of a page, in order, with its size', async () => {
    routes.set('/slow', slowJson(60, 1))
    const record = await recordOf(scripted(`fetch('/slow').then(() => show('loaded'))`))
    const times = PHASES.map((phase) => record.phases[phase] ?? Number.NaN)
    assert(
      times.every((time, at) => at === 0 || time >= times[at - 1]!),
      JSON.stringify(record.phases),
    )
    const { firstResponse, settled } = record.phases
    assert(Number(settled) - Number(firstResponse) >= 50, JSON.stringify(record.phases))
    assert.equal(record.outcome, 'rendered')
    assert(Number(record.htmlBytes) > 50)
  })

  it('says why the page was taken', async () => {
    const capture = async (script: string) => (await recordOf(scripted(script))).capture
    assert.equal(await capture(`show('a')`), 'budget')
    assert.equal(
      await capture(`window.prerenderReady = false; setTimeout(() => { prerenderReady = true }, 100)`),
      'ready-signal',
    )
    routes.set('/never', () => {})
    assert.equal(await capture(`show('a'); new EventSource('/never')`), 'idle')
  })

  it('counts requests and names those that failed, were blocked or were refused', async () => {
    routes.set('/data', slowJson(0, 1))
    const record = await recordOf(
      scripted(`show('a')
        fetch('/data'); fetch('/absent'); fetch('http://10.0.0.1/inside').catch(() => {})
        fetch('https://www.google-analytics.com/collect').catch(() => {})
        new Audio('/sound.mp3').load(); new FontFace('x', 'url(/font.woff2)').load().catch(() => {})`),
    )
    const reasons = Object.fromEntries(
      record.troubles.map(({ url, kind, reason }) => [new URL(url).pathname, `${kind} ${reason}`]),
    )
    assert.equal(reasons['/absent'], 'failed status 404')
    assert.match(reasons['/collect'] ?? '', /^blocked its host is on the list/)
    assert.match(reasons['/inside'] ?? '', /^(blocked|failed) ./)
    assert.equal(reasons['/font.woff2'], 'blocked not needed')
    assert(!asked.includes('/sound.mp3') && !asked.includes('/font.woff2'))
    assert.equal(reasons['/data'], undefined)
    assert.equal(record.requests.made, 6)
    assert.equal(record.requests.blocked + record.requests.failed, record.troubles.length)
  })

  it('keeps errors of the console and uncaught exceptions', async () => {
    const { consoleErrors } = await recordOf(
      scripted(
        `show('a'); console.log('fine'); console.error('broken', 7, 'a\\0b'); setTimeout(() => { lost() })`,
      ),
    )
    assert.equal(consoleErrors.count, 2)
    assert.equal(consoleErrors.texts[0], 'broken 7 ab')
    assert.match(consoleErrors.texts[1] ?? '', /ReferenceError: lost is not defined/)
  })

  it('explains a render without a page: what was reached, and no more', async () => {
    const record = await recordOf(scripted(`show('a'); while (true) {}`))
    assert.equal(record.outcome, 'timed-out')
    assert.equal(record.capture, null)
    assert.equal(record.phases.settled, null)
    assert(Number(record.phases.snapshot) >= 2_900)
    assert.equal(record.htmlBytes, null)
  })
})

it('its limits: the first troubles and errors are listed, their texts and URLs cut; all are counted', async () => {
  const ask = (times: number) => `for (let i = 0; i < ${times}; i++) fetch('/absent?' + i + 'x'.repeat(400))`
  const cry = (times: number) => `for (let i = 0; i < ${times}; i++) console.error('x'.repeat(9000))`
  const [asks, cries] = [TROUBLES_LIMIT + 1, CONSOLE_ERRORS_LIMIT + 1]
  const record = await recordOf(scripted(`show('a'); ${ask(asks)}; ${cry(cries)}`))
  assert.deepEqual([record.requests.failed, record.consoleErrors.count], [asks, cries])
  assert.equal(record.troubles.length, TROUBLES_LIMIT)
  assert.equal(record.troubles[0]?.url.length, 300)
  assert.equal(record.consoleErrors.texts.length, CONSOLE_ERRORS_LIMIT)
  assert.equal(record.consoleErrors.texts[0]?.length, 500)
})

describe('the name of an application', () => {
  function nameOf(files: readonly string[], type = 'Script'): string | null {
    const application = new Application()
    for (const url of files) application.requested(type, url)
    return application.name()
  }
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => `/${String(at).padStart(4, '0')}.js`)

  it('the same scripts and style sheets make the same name, in any order and however often; without any there is none', () => {
    const name = nameOf(['/app-1.js', '/app-1.css'])
    assert.match(name ?? '', /^[\w-]{16}$/)
    assert.equal(nameOf(['/app-1.css', '/app-1.js', '/app-1.js']), name)
    assert.equal(nameOf(['/app-1.js', '/app-1.css'], 'Stylesheet'), name)
    assert.notEqual(nameOf(['/app-1.js']), name)
    assert.equal(nameOf(['/a'], 'Fetch'), null)
  })

  it('up to its limits', () => {
    assert.notEqual(nameOf(many(FILES_LIMIT)), nameOf(many(FILES_LIMIT - 1)))
    assert.equal(nameOf(many(FILES_LIMIT + 1)), nameOf(many(FILES_LIMIT)))
    const long = `/${'x'.repeat(FILE_URL_LIMIT_CHARS - 2)}`
    assert.notEqual(nameOf([`${long}1`]), nameOf([`${long}2`]))
    assert.equal(nameOf([`${long}12`]), nameOf([`${long}13`]))
  })
})
