/** Data that comes late is in the page; what never comes does not hold a site for ever. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Answer, javascript, openRenderer, scripted, slowJson } from '../../test/support/renderer.ts'

const TIMEOUT_MS = 10_000
const LATE_MS = 6_000
const renderer = await openRenderer({ timeoutMs: TIMEOUT_MS, slots: 16 })
const { routes } = renderer

const late = slowJson(LATE_MS, 'late')
const inTwoParts: Answer = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).write('"la')
  setTimeout(() => response.end('te"'), LATE_MS)
}
const hung: Answer = () => {}

const SHOW = '.then((r) => r.json()).then(show)'
const whole: Record<string, { script: string; routes: Record<string, Answer> }> = {
  'a pause in the middle of the body': { script: `fetch('data')${SHOW}`, routes: { data: inTwoParts } },
  'a request that follows, and timers after it': {
    script: `fetch('data').then((r) => r.json()).then(() => fetch('more')).then((r) => r.json())
      .then((text) => setTimeout(() => show(text), 3000))`,
    routes: { data: slowJson(LATE_MS, ''), more: slowJson(300, 'late') },
  },
  'a worker that asks': {
    script: `new Worker('worker.js').onmessage = ({ data }) => show(data)`,
    routes: {
      'worker.js': javascript(
        `fetch('data').then((r) => r.json()).then((text) => setTimeout(() => postMessage(text), 200))`,
      ),
      data: late,
    },
  },
  'a frame that asks': {
    script: `addEventListener('message', ({ data }) => show(data))
      document.body.insertAdjacentHTML('beforeend', '<iframe src="frame"></iframe>')`,
    routes: {
      frame: `<script>fetch('data').then((r) => r.json()).then((text) => parent.postMessage(text, '*'))</script>`,
      data: late,
    },
  },
}

describe('late data is in the page', { concurrency: true }, () => {
  for (const [name, { script, routes: parts }] of Object.entries(whole)) {
    it(name, async () => {
      const folder = `/${name.replaceAll(/\W+/g, '-')}/`
      for (const [name, answer] of Object.entries(parts)) routes.set(folder + name, answer)
      routes.set(folder, scripted(script))
      const { outcome, record } = await renderer.explained(folder, {
        domain: `${folder.slice(1, -1)}.example`.toLowerCase(),
      })
      assert(outcome.kind === 'rendered', JSON.stringify(outcome).slice(0, 300))
      assert.match(outcome.html, /<li>late<\/li>/)
      assert.deepEqual([outcome.missing, record?.requests.missing], [undefined, undefined])
    })
  }
})

describe('what never comes', { concurrency: true }, () => {
  it('holds the first render until its limit, is named, and is known from then on', async () => {
    routes.set('/poll/1', hung)
    routes.set('/poll/2', hung)
    routes.set('/first', scripted(`fetch('/poll/1'); setTimeout(() => show('content'), 2000)`))
    routes.set('/second', scripted(`fetch('/poll/2'); setTimeout(() => show('content'), 2000)`))
    const first = await renderer.explained('/first', { domain: 'chat.example' })
    assert(first.outcome.kind === 'rendered')
    assert.match(first.outcome.html, /<li>content<\/li>/)
    assert.equal(first.outcome.missing, 'no answer to GET https://chat.example/poll/1')
    assert.deepEqual(
      first.record?.troubles.map(({ kind, url }) => [kind, url]),
      [['missing', 'https://chat.example/poll/1']],
    )
    assert.equal(first.record?.requests.missing, 1)

    const second = await renderer.explained('/second', { domain: 'chat.example' })
    assert(second.outcome.kind === 'rendered')
    assert.match(second.outcome.html, /<li>content<\/li>/)
    assert.deepEqual([second.outcome.missing, second.record?.requests.missing], [undefined, undefined])
  })

  for (const [name, answer] of Object.entries<Answer>({
    'an event stream read by fetch': (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).write('data: 1\n\n')
    },
    'a stream of lines that ticks': (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const tick = setInterval(() => response.write('tick\n'), 700)
      response.once('close', () => clearInterval(tick))
    },
  })) {
    it(`${name} is not waited for`, async () => {
      const path = `/${name.replaceAll(' ', '-')}`
      routes.set(`${path}/stream`, answer)
      const read = `fetch('${path}/stream').then(async ({ body }) => { for await (const part of body) document.title = part.length })`
      routes.set(path, scripted(`${read}; setTimeout(() => show('content'), 1000)`))
      const { outcome } = await renderer.explained(path, { domain: 'stream.example' })
      assert(outcome.kind === 'rendered')
      assert.match(outcome.html, /<li>content<\/li>/)
      assert.equal(outcome.missing, undefined)
    })
  }
})

describe('a crawler waits', { concurrency: true }, () => {
  const soon = () => ({ captureByMs: Date.now() + 2_500 })
  routes.set('/hung.json', hung)

  it('what is there is captured in time, and the outcome names what is not', async () => {
    routes.set('/live', `<p>shell</p>${scripted(`fetch('/hung.json')${SHOW}`)}`)
    const { outcome, record } = await renderer.explained('/live', { domain: 'live.example', ...soon() })
    assert(outcome.kind === 'incomplete', JSON.stringify(outcome).slice(0, 300))
    assert.equal(outcome.reason, 'no answer to GET https://live.example/hung.json')
    assert.match(outcome.page?.html ?? '', /<p>shell<\/p>/)
    assert.equal(outcome.page?.status, 200)
    assert.deepEqual([record?.capture, record?.requests.missing], ['deadline', 1])
    assert.equal(record?.htmlBytes, Buffer.byteLength(outcome.page?.html ?? ''))
  })

  it('a page with nothing on it yet is not given', async () => {
    routes.set('/empty', scripted(`fetch('/hung.json')${SHOW}`))
    const { outcome } = await renderer.explained('/empty', { domain: 'empty.example', ...soon() })
    assert.deepEqual(outcome, {
      kind: 'incomplete',
      reason: 'no answer to GET https://empty.example/hung.json',
      page: null,
    })
  })

  it('what it did not wait for is not taken for a long poll', async () => {
    routes.set('/soon', `<p>shell</p>${scripted(`fetch('/soon.json')${SHOW}`)}`)
    routes.set('/soon.json', late)
    const first = await renderer.explained('/soon', { domain: 'soon.example', ...soon() })
    assert.equal(first.outcome.kind, 'incomplete')
    assert.match(await renderer.html('/soon', { domain: 'soon.example' }), /<li>late<\/li>/)
  })
})
