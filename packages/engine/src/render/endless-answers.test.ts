/** Responses of every kind that begin and never end: a crawler's first visit gets the whole page, which is kept. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Answer, openRenderer, scripted } from '../../../../test/support/renderer.ts'

/** A stream is known as such after five seconds. */
const LONG_AFTER_MS = 40_000
/** A machine with one core renders so many beside other tests before the stream is known. */
const PAGES_AT_ONCE = 4
/** The document itself is waited for to the end. */
const END_MS = 13_000
const renderer = await openRenderer({ timeoutMs: 45_000, slots: PAGES_AT_ONCE })
const { routes } = renderer
// The start of the browser counts in no limit below.
routes.set('/first', 'first')
await renderer.html('/first')

/** Sends `part` ten times a second until its client is gone. */
function endless(contentType: string, part: string): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': contentType })
    response.write(part)
    const timer = setInterval(() => response.write(part), 100)
    response.once('close', () => clearInterval(timer))
  }
}

const HARBOUR = '<p>The ferry leaves at noon.</p>'
const SHIP = '--ship\r\nContent-Type: text/html\r\n\r\n<p>a ship</p>\r\n'
routes.set('/log', endless('text/plain', 'a line\n'))
routes.set('/code.js', endless('text/javascript', '// more\n'))
routes.set('/rows', endless('text/html', '<p>a row</p>'))
routes.set('/ships', endless('multipart/x-mixed-replace; boundary=ship', SHIP))
routes.set('/tune', endless('audio/mpeg', 'x'.repeat(500)))
routes.set('/camera', endless('image/jpeg', 'x'.repeat(500)))
routes.set('/style.css', endless('text/css', 'i { color: red }\n'))
routes.set('/events', endless('text/event-stream', 'data: tide\n\n'))

const pages: Record<string, string> = {
  'an XMLHttpRequest whose parts are read': `${HARBOUR}${scripted(`
    const request = new XMLHttpRequest()
    request.open('GET', '/log')
    request.onprogress = () => {}
    request.send()`)}`,
  'an XMLHttpRequest whose end is awaited': `${HARBOUR}${scripted(`
    const request = new XMLHttpRequest()
    request.open('GET', '/log')
    request.onload = () => show('never')
    request.send()`)}`,
  'the body of a fetch': `${HARBOUR}${scripted(`fetch('/log').then((log) => log.text()).then(show)`)}`,
  'a fetch that is read piece by piece': `${HARBOUR}${scripted(`fetch('/log').then(async ({ body }) => {
    const reader = body.getReader()
    for (;;) await reader.read()
  })`)}`,
  'a fetch of sound': `${HARBOUR}${scripted(`fetch('/tune').then((tune) => tune.arrayBuffer())`)}`,
  'an EventSource': `${HARBOUR}${scripted(`new EventSource('/events').onmessage = () => {}`)}`,
  'a script that a script adds': `${HARBOUR}${scripted(`document.head.append(Object.assign(document.createElement('script'), { src: '/code.js' }))`)}`,
  'a script in the markup': `${HARBOUR}<script src="/code.js"></script>`,
  'a style sheet behind the content': `${HARBOUR}<link rel="stylesheet" href="/style.css">`,
  'the document of a frame': `${HARBOUR}<iframe src="/rows"></iframe>`,
  'a frame whose document is replaced': `${HARBOUR}<iframe src="/ships"></iframe>`,
  'an object and an embedded document': `${HARBOUR}<object data="/rows"></object><embed src="/rows">`,
  'pictures and sounds': `${HARBOUR}<img src="/camera"><img src="/ships"><audio src="/tune" autoplay></audio><video src="/tune"></video>`,
}

describe('what never ends holds no page', { concurrency: PAGES_AT_ONCE }, () => {
  for (const [at, [name, html]] of Object.entries(pages).entries())
    it(`that has ${name}: it is whole at the first visit`, async () => {
      routes.set(`/page/${at}`, `<!doctype html><title>t</title>${html}`)
      const captureByMs = Date.now() + LONG_AFTER_MS
      const { outcome, record } = await renderer.explained(`/page/${at}`, {
        domain: `endless${at}.example`,
        captureByMs,
      })
      assert(outcome.kind === 'rendered', JSON.stringify(outcome).slice(0, 300))
      assert.match(outcome.html, /The ferry leaves/)
      assert.notEqual(record?.capture, 'deadline')
    })

  it('a document that has its content and never ends is kept, and what is missing is named', async () => {
    routes.set('/board', endless('text/html', `<p>${'The board of departures goes on. '.repeat(4)}</p>`))
    const captureByMs = Date.now() + END_MS
    const outcome = await renderer.page('/board', { domain: 'board.example', captureByMs })
    assert(outcome.kind === 'rendered', JSON.stringify(outcome).slice(0, 300))
    assert.match(outcome.html, /The board of departures/)
    assert.equal(outcome.missing, 'the document did not end')
  })

  it('a document that never ends and says that it is loading is incomplete', async () => {
    routes.set('/loading', endless('text/html', '<div class="spinner"></div>'))
    const captureByMs = Date.now() + END_MS
    const outcome = await renderer.page('/loading', { domain: 'loading.example', captureByMs })
    assert.notEqual(outcome.kind, 'rendered')
  })
})
