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

/** As long as crawlers wait by default. */
const CRAWLER_WAITS_MS = 9_000
/** Long enough for a request to be suspected of being a long poll. */
const IMPATIENT_MS = 6_500
const CONTENT = `<p>${'The boats lie at the landing until the first of May. '.repeat(4)}</p>`
const pieces =
  (everyMs: number): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"at": 1}\n')
    const timer = setInterval(() => response.write('{"at": 2}\n'), everyMs)
    response.on('close', () => clearInterval(timer))
  }
const READ = `.then(async (r) => { const reader = r.body.getReader(); while (!(await reader.read()).done); })`
const AGAIN = `const ask = () => fetch('state').then((r) => r.json()).then(ask); ask()`

/** What the script asks for at the address `state`, and how that answers. */
const held: Record<string, [script: string, state: Answer]> = {
  'a long poll by fetch': [`fetch('state').then((r) => r.json()).then(show)`, hung],
  'a long poll by XMLHttpRequest': [
    `const ask = new XMLHttpRequest(); ask.open('POST', 'state'); ask.onload = () => show(ask.response); ask.send('{}')`,
    hung,
  ],
  'a long poll by a script with a callback': [
    `window.take = show; document.head.append(Object.assign(document.createElement('script'), { src: 'state?jsonp=take' }))`,
    hung,
  ],
  'four requests at once': [`for (let n = 0; n < 4; n++) fetch('state?room=' + n).then(show)`, hung],
  'a poll by an interval': [`setInterval(() => fetch('state').then(show, () => {}), 700)`, hung],
  'a poll that is given up and sent again': [
    `const ask = () => fetch('state', { signal: AbortSignal.timeout(2_000) }).then(show, ask); ask()`,
    hung,
  ],
  'a poll that is answered after two seconds, again and again': [AGAIN, slowJson(2_000, 1)],
  'a response in pieces without an end': [`fetch('state')${READ}`, pieces(200)],
  'a response in slow pieces without an end': [`fetch('state')${READ}`, pieces(1_500)],
  'a response that says one word': [`fetch('state').then((r) => r.text()).then(show)`, pieces(60_000)],
  'an XMLHttpRequest that is read as it comes': [
    `const ask = new XMLHttpRequest(); ask.open('GET', 'state'); ask.onprogress = () => {}; ask.send()`,
    pieces(200),
  ],
}

/** Requests that a page sends without waiting for them. */
const sent: Record<string, string> = {
  'a beacon': `navigator.sendBeacon('state', 'seen')`,
  'a request that outlives the page': `fetch('state', { method: 'POST', keepalive: true, body: 'seen' })`,
  'the same as an object': `fetch(new Request('state', { method: 'PUT', keepalive: true, body: 'seen' })).catch(() => {})`,
  'a beacon on leaving': `for (const type of ['pagehide', 'visibilitychange']) addEventListener(type, () => navigator.sendBeacon('state'))
    navigator.sendBeacon('state')`,
  'an answer that the page cannot read': `fetch('http://127.0.0.1:1/state', { mode: 'no-cors' }).catch(() => {})`,
  'pictures that count visitors': `new Image().src = 'state'; document.body.insertAdjacentHTML('beforeend', '<img src="state?1"><svg><image href="state?2"/></svg>')`,
  'a report of the page’s policy': `document.head.insertAdjacentHTML('beforeend', '<meta http-equiv="Content-Security-Policy" content="img-src *">')`,
}

const folderNamed = (name: string) => `/${name.replace(/\W+/g, '-')}/`

describe('the first crawler of a site gets a whole page', { concurrency: true }, () => {
  const live = async (name: string, page: string, state: Answer) => {
    const folder = folderNamed(name)
    const domain = `${folder.slice(1, -1).toLowerCase()}.example`
    routes.set(`${folder}state`, state)
    routes.set(folder + page, CONTENT + scripted(`show('content'); ${held[name]?.[0] ?? sent[name]}`))
    const captureByMs = Date.now() + CRAWLER_WAITS_MS
    const { outcome, record } = await renderer.explained(folder + page, { domain, captureByMs })
    assert(outcome.kind === 'rendered', JSON.stringify(outcome).slice(0, 300))
    assert.match(outcome.html, /<li>content<\/li>/)
    return { missing: outcome.missing, capture: record?.capture }
  }

  for (const [name, [, state]] of Object.entries(held))
    it(`in spite of ${name}, for which later pages do not wait`, async () => {
      await live(name, 'first', state)
      assert.notEqual((await live(name, 'second', state)).capture, 'deadline')
    })

  for (const name of Object.keys(sent))
    it(`in spite of ${name}, which nothing waits for`, async () => {
      const { missing, capture } = await live(name, 'page', hung)
      assert.equal(missing, undefined)
      assert.notEqual(capture, 'deadline')
    })
})

describe('data that a crawler can wait for', { concurrency: true }, () => {
  for (const [name, script] of Object.entries({
    fetch: `fetch('late')${SHOW}`,
    'two requests, one after the other': `fetch('late').then(() => fetch('late?2'))${SHOW}`,
    'the same request again, after the first answer was useless': `fetch('late').then(() => fetch('late'))${SHOW}`,
    'a script with a callback': `window.take = show; document.head.append(Object.assign(document.createElement('script'), { src: 'late.js?callback=take' }))`,
    'a request that outlives the page and is answered at once': `fetch('soon', { keepalive: true })${SHOW}`,
    'an address that names a poll': `fetch('events')${SHOW}`,
  }))
    it(`is in its page: ${name}`, async () => {
      const folder = folderNamed(`late ${name}`)
      routes.set(`${folder}late`, slowJson(2_200, 'late'))
      routes.set(`${folder}soon`, slowJson(300, 'late'))
      routes.set(`${folder}events`, slowJson(4_000, 'late'))
      routes.set(`${folder}late.js`, (_request, response) => {
        setTimeout(() => response.setHeader('content-type', 'text/javascript').end('take("late")'), 2_500)
      })
      routes.set(`${folder}page`, CONTENT + scripted(script))
      const captureByMs = Date.now() + CRAWLER_WAITS_MS
      const outcome = await renderer.page(`${folder}page`, { domain: 'late.example', captureByMs })
      assert(outcome.kind === 'rendered', JSON.stringify(outcome).slice(0, 300))
      assert.match(outcome.html, /<li>late<\/li>/)
      assert.equal(outcome.missing, undefined)
    })
})

describe('data that a crawler cannot wait for', { concurrency: true }, () => {
  for (const [name, script] of Object.entries({
    'the page has nothing but its markup': `fetch('slow')${SHOW}`,
    'the page says that it is loading': `show('Loading boats…'); fetch('slow')${SHOW}`,
  }))
    it(`leaves an incomplete page, and the render that follows waits for it: ${name}`, async () => {
      const folder = folderNamed(`slow ${name}`)
      const domain = `${folder.slice(1, -1)}.example`
      routes.set(`${folder}slow`, slowJson(7_500, 'slow'))
      routes.set(`${folder}page`, CONTENT + scripted(script))
      const captureByMs = Date.now() + IMPATIENT_MS
      const first = await renderer.page(`${folder}page`, { domain, captureByMs })
      assert(first.kind === 'incomplete', JSON.stringify(first).slice(0, 300))
      assert.match(first.page?.html ?? '', /The boats lie/)
      assert.match(await renderer.html(`${folder}page`, { domain }), /<li>slow<\/li>/)
    })
})
