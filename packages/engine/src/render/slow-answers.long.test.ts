/** What crawlers get of pages whose requests stay unanswered, or are answered late. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Answer, openRenderer, scripted, slowJson } from '../../../../test/support/renderer.ts'

/** Pages that wait need no processor; more of them at once are slow on a busy machine. */
const AT_ONCE = 6
const renderer = await openRenderer({ timeoutMs: 20_000, slots: AT_ONCE })
const { routes } = renderer
// The start of the browser counts in no limit below.
routes.set('/first', 'first')
await renderer.html('/first')

const hung: Answer = () => {}
const SHOW = '.then((r) => r.json()).then(show)'

/** Longer than by default, for machines that are busy with other tests. */
const CRAWLER_WAITS_MS = 12_000
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

describe('the first crawler of a site gets a whole page', { concurrency: AT_ONCE }, () => {
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

describe('data that a crawler can wait for', { concurrency: AT_ONCE }, () => {
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

describe('data that a crawler cannot wait for', { concurrency: AT_ONCE }, () => {
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
