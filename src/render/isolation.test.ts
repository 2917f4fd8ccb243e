/**
 * Nothing of one render is seen by another: of the same domain, of another domain, one after the other or side by side.
 * Each way is shown to work inside one render first, where a browser lets a page use it at all.
 */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { describe, it } from 'node:test'
import { type Answer, javascript, openRenderer, scripted } from '../../test/support/renderer.ts'

const renderer = await openRenderer()

/** Reads everything a page can find, as JSON in its only paragraph. */
const READ = `
  async function read() {
    const caches_ = 'caches' in window ? await caches.keys() : []
    const databases = (await indexedDB.databases()).map(({ name }) => name)
    const workers = 'serviceWorker' in navigator ? (await navigator.serviceWorker.getRegistrations()).length : 0
    const root = await navigator.storage.getDirectory()
    const files = await root.getFileHandle('first').then(() => ['first'], () => [])
    return { cookie: document.cookie, local: { ...localStorage }, session: { ...sessionStorage }, databases, caches: caches_,
      workers, files, name: window.name, history: history.length, state: history.state, opener: String(window.opener),
      referrer: document.referrer, frame: window.frameSees ?? null }
  }
  async function tell() { const p = document.createElement('p'); p.textContent = JSON.stringify(await read()); document.body.append(p) }`

/** Writes everywhere, also at the last moment. */
const WRITE = `
  document.cookie = 'who=first; max-age=1000'; localStorage.who = 'first'; sessionStorage.who = 'first'; window.name = 'first'
  history.pushState({ who: 'first' }, '', '/write?pushed'); history.pushState({}, '', '/write?again')
  for (const event of ['pagehide', 'unload', 'beforeunload', 'visibilitychange'])
    addEventListener(event, () => { localStorage[event] = 'first'; document.cookie = event + '=first' })
  const opened = indexedDB.open('first', 1)
  const written = Promise.all([
    new Promise((done) => { opened.onsuccess = done }),
    caches.open('first').then((cache) => cache.put('/cached', new Response('first'))),
    navigator.storage.getDirectory().then((dir) => dir.getFileHandle('first', { create: true })),
    navigator.serviceWorker.register('/sw.js').catch(() => {}),
    new Promise((done) => { addEventListener('message', done) }),
  ])`

const page = (script: string) => `<!doctype html><body><script>${script}</script></body>`
const { routes } = renderer
routes.set('/empty', page(`${READ} tell()`))
routes.set('/write', `${page(`${READ} ${WRITE}; written.then(tell)`)}<iframe src="/own-frame"></iframe>`)
routes.set('/sw.js', javascript('onfetch = () => {}'))
routes.set(
  '/own-frame',
  '<script>localStorage.frame = "first"; document.cookie = "frame=first"; parent.postMessage("done", "*")</script>',
)

async function seenBy(path: string, domain?: string) {
  const html = await renderer.html(path, domain === undefined ? {} : { domain })
  return JSON.parse(/<p>(\{.*\})<\/p>/.exec(html)?.[1] ?? 'null')
}

describe('between renders', () => {
  it('a first render sees what it writes itself, the next of the same domain sees nothing of it', async () => {
    const nothing = await seenBy('/empty')
    const first = await seenBy('/write')
    // The other half: without it the test would pass in a browser that stores nothing.
    assert.match(first.cookie, /who=first/)
    const { local, session, databases, caches, files, name, workers } = first
    assert.deepEqual([local.who, local.frame, session.who, name, workers], [...Array(4).fill('first'), 0])
    assert.deepEqual([databases, caches, files], [['first'], ['first'], ['first']])
    for (let again = 0; again < 3; again++) assert.deepEqual(await seenBy('/empty'), nothing)
    assert.deepEqual(nothing, {
      ...{ cookie: '', local: {}, session: {}, databases: [], caches: [], workers: 0, files: [] },
      ...{ name: '', history: 1, state: null, opener: 'null', referrer: '', frame: null },
    })
  })

  it('a page can neither go back to the page of the render before nor see it', async () => {
    const look = `const seen = () => [history.length, navigation.entries().length, navigation.currentEntry.index, navigation.canGoBack, navigation.activation?.from ?? null]`
    const show = `document.body.append(JSON.stringify(found))`
    routes.set('/before', '<!doctype html><p>the page before</p>')
    routes.set(
      '/goes-back',
      page(`${look}; const found = [seen()]; history.back(); history.go(-1)
        navigation.back().committed.catch(({ name }) => found.push(name))
        setTimeout(() => { ${show} }, 1000)`),
    )
    // Where it has been itself it can go.
    routes.set(
      '/goes-about',
      page(`${look}; const found = []; onload = () => setTimeout(() => {
        history.pushState(null, '', '/pushed'); found.push(seen())
        onpopstate = async () => { onpopstate = null; found.push(location.pathname, navigation.currentEntry.index)
          await navigation.forward().committed; found.push(location.pathname); ${show} }
        history.back() })`),
    )
    for (const [path, expected] of [
      ['/goes-back', [[1, 1, 0, false, null], 'InvalidStateError']],
      ['/goes-about', [[2, 2, 1, true, null], '/goes-about', 0, '/pushed']],
    ] as const) {
      await renderer.html('/before', { domain: 'history.example' })
      const html = await renderer.html(path, { domain: 'history.example' })
      assert.deepEqual(JSON.parse(/(\[.*\])<\/body>/.exec(html)?.[1] ?? html), expected)
    }
  })

  it('but the HTTP cache stays warm, also when the page is replaced after some renders', async () => {
    let fetched = 0
    const library: Answer = (_request, response) => {
      fetched++
      response.setHeader('cache-control', 'max-age=600').setHeader('content-type', 'text/javascript').end('1')
    }
    routes.set('/lib.js', library)
    routes.set('/with-lib', '<!doctype html><p>x</p><script src="/lib.js"></script>')
    // More than one process renders (src/render/tab/tab-pool.ts).
    for (let again = 0; again < 61; again++) await renderer.html('/with-lib', { domain: 'many.example' })
    assert.equal(fetched, 1)
    await seenBy('/write', 'many.example')
    assert.deepEqual((await seenBy('/empty', 'many.example')).local, {})
  })

  it('more domains than there are contexts: each is served, none sees another, nor itself when it comes back', async () => {
    for (let domain = 0; domain < 9; domain++) {
      await seenBy('/write', `d${domain}.example`)
      assert.equal((await seenBy('/empty', `d${domain + 1}.example`)).cookie, '')
    }
    assert.deepEqual((await seenBy('/empty', 'd0.example')).local, {})
  })
})

const seen = (path: string, domain = 'shop.example') => renderer.shown(path, { domain })

it('credentials of HTTP authentication that one render gave are not sent by the next', async () => {
  const heard: (string | undefined)[] = []
  routes.set('/auth', (request, response) => {
    heard.push(request.headers.authorization)
    if (request.headers.authorization === undefined)
      response.writeHead(401, { 'www-authenticate': 'Basic realm="a"' }).end('who?')
    else response.end('welcome')
  })
  const ask = (credentials: string) =>
    scripted(`const x = new XMLHttpRequest(); x.open('GET', '/auth', true${credentials})
      x.onloadend = () => show(x.status); x.send()`)
  routes.set('/knows', ask(', "user", "of-the-first"'))
  routes.set('/asks', ask(''))
  await seen('/knows')
  const before = heard.length
  for (const domain of ['shop.example', 'other.example', 'shop.example'])
    assert.deepEqual(await seen('/asks', domain), ['401'])
  assert(heard.slice(before).every((header) => header === undefined))
})

// Which hosts get them: src/gateway/gateway.test.ts.
it("an owner's headers reach the origin, no page, no record and no other render of the domain", async () => {
  const heard: boolean[] = []
  routes.set(
    '/guarded',
    scripted`fetch('/guarded-data').then(async (answer) => show(JSON.stringify([...answer.headers]) + await answer.text()))`,
  )
  routes.set('/guarded-data', ({ headers }, response) => {
    heard.push(headers['x-secret'] === 'canary')
    response.end('data')
  })
  const rendering = await renderer.explained('/guarded', { originHeaders: ['X-Secret', 'canary'] })
  assert.equal(rendering.outcome.kind, 'rendered')
  assert.doesNotMatch(JSON.stringify(rendering), /canary/)
  await renderer.explained('/guarded')
  assert.deepEqual(heard, [true, false])
})

/** Renders two pages that are both open at the same time: neither is answered before both have asked. */
async function together(left: [path: string, domain: string], right: [path: string, domain: string]) {
  const waiting: http.ServerResponse[] = []
  routes.set('/meet', (_request, response) => {
    waiting.push(response)
    if (waiting.length === 2) for (const each of waiting) each.end('{}')
  })
  return Promise.all([seen(...left), seen(...right)])
}

describe('channels between pages that are open at once', () => {
  const channel = (own: string) =>
    scripted(`const heard = new Set(); const channel = new BroadcastChannel('a'), echo = new BroadcastChannel('a')
      window.prerenderReady = false
      addEventListener('storage', ({ key }) => heard.add(key))
      channel.onmessage = ({ data }) => { heard.add(data)
        // Itself it has heard; what others said before would be here as well.
        if (data === '${own}') fetch('/heard').then(() => { show('heard ' + [...heard].sort().join()); window.prerenderReady = true }) }
      fetch('/meet').then(() => { localStorage.setItem('${own}', 1); echo.postMessage('${own}') })`)
  routes.set('/heard', (_request, response) => void setTimeout(() => response.end('{}'), 200))
  routes.set('/left', channel('left'))
  routes.set('/right', channel('right'))

  for (const domain of ['shop.example', 'blue.example'])
    it(`BroadcastChannel and storage events: a page hears itself, no other of ${domain}`, async () => {
      const heard = await together(['/left', 'shop.example'], ['/right', domain])
      assert.deepEqual(heard, [['heard left'], ['heard right']])
    })
})
