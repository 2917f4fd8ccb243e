/** Data that comes late is in the page; what never comes does not hold a site for ever. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Answer,
  javascript,
  openRenderer,
  scripted,
  slowJson,
} from '../../../../test/support/renderer.ts'

const LATE_MS = 5_500
const renderer = await openRenderer({ timeoutMs: 10_000, slots: 12 })
const { routes } = renderer
// The start of the browser counts in no limit below.
routes.set('/first', 'first')
await renderer.html('/first')

const hung: Answer = () => {}
routes.set('/hung.json', hung)
routes.set('/data', slowJson(LATE_MS, 'late'))
routes.set('/parts', (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).write('"la')
  setTimeout(() => response.end('te"'), LATE_MS)
})

const SHOW = '.then((r) => r.json()).then(show)'
const ask = `fetch('/data').then((r) => r.json())`
routes.set('/worker.js', javascript(`${ask}.then((text) => setTimeout(() => postMessage(text), 200))`))
routes.set('/frame', `<script>${ask}.then((text) => parent.postMessage(text, '*'))</script>`)
const whole: Record<string, string> = {
  paused: `fetch('/parts')${SHOW}`,
  'by-worker': `new Worker('/worker.js').onmessage = ({ data }) => show(data)`,
  'by-frame': `addEventListener('message', ({ data }) => show(data))
    document.body.insertAdjacentHTML('beforeend', '<iframe src="/frame"></iframe>')`,
}

describe('slow answers', { concurrency: true }, () => {
  for (const [name, script] of Object.entries(whole)) {
    it(`late data is in the page: ${name}`, async () => {
      routes.set(`/${name}`, scripted(script))
      const { outcome, record } = await renderer.explained(`/${name}`, { domain: `${name}.example` })
      assert(outcome.kind === 'rendered', JSON.stringify(outcome).slice(0, 300))
      assert.match(outcome.html, /<li>late<\/li>/)
      assert.deepEqual([outcome.missing, record?.requests.missing], [undefined, undefined])
    })
  }

  it('what never comes holds the first render until its limit, is named, and is known from then on', async () => {
    const rendered = async (poll: string) => {
      routes.set(poll, hung)
      routes.set(`/of${poll}`, scripted(`fetch('${poll}'); setTimeout(() => show('content'), 2000)`))
      const { outcome, record } = await renderer.explained(`/of${poll}`, { domain: 'chat.example' })
      assert(outcome.kind === 'rendered')
      assert.match(outcome.html, /<li>content<\/li>/)
      return { missing: outcome.missing, record }
    }
    const { missing, record } = await rendered('/poll/1')
    assert.equal(missing, 'no answer to GET https://chat.example/poll/1')
    const troubles = record?.troubles.map(({ kind, url }) => [kind, url])
    assert.deepEqual(troubles, [['missing', 'https://chat.example/poll/1']])
    assert.equal(record?.requests.missing, 1)
    const second = await rendered('/poll/2')
    assert.deepEqual([second.missing, second.record?.requests.missing], [undefined, undefined])
  })
})

describe('a crawler waits', { concurrency: true }, () => {
  const live = async (path: string, page: string) => {
    routes.set(path, page)
    const domain = `${path.slice(1)}.example`
    const { outcome, record } = await renderer.explained(path, { domain, captureByMs: Date.now() + 2_500 })
    assert(outcome.kind === 'incomplete', JSON.stringify(outcome).slice(0, 300))
    return { outcome, record }
  }

  it('what is there is captured in time, and the outcome names what is not', async () => {
    const { outcome, record } = await live('/live', `<p>shell</p>${scripted(`fetch('/hung.json')${SHOW}`)}`)
    assert.equal(outcome.reason, 'no answer to GET https://live.example/hung.json')
    assert.match(outcome.page?.html ?? '', /<p>shell<\/p>/)
    assert.equal(outcome.page?.status, 200)
    assert.deepEqual([record?.capture, record?.requests.missing], ['deadline', 1])
    assert.equal(record?.htmlBytes, Buffer.byteLength(outcome.page?.html ?? ''))
  })

  it('a page with nothing on it yet is not given; what it did not wait for is no long poll', async () => {
    const { outcome } = await live('/soon', scripted(`fetch('/data')${SHOW}`))
    assert.equal(outcome.page, null)
    assert.match(await renderer.html('/soon', { domain: 'soon.example' }), /<li>late<\/li>/)
  })

  it('a page that says it is not ready is captured as incomplete', async () => {
    const { outcome } = await live('/unready', `<p>shell</p>${scripted('window.prerenderReady = false')}`)
    assert.equal(outcome.reason, 'the page did not say that it was ready')
  })
})
