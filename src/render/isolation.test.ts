/** Nothing of one render is seen by another: of the same domain, of another domain, one after the other or side by side. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Answer, javascript, openRenderer } from '../../test/support/renderer.ts'

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

  it('another domain sees nothing, and nothing when it comes back', async () => {
    await seenBy('/write', 'red.example')
    assert.deepEqual((await seenBy('/empty', 'blue.example')).cookie, '')
    assert.deepEqual((await seenBy('/empty', 'red.example')).local, {})
  })

  it('but the HTTP cache stays warm, also when the page is replaced after some renders', async () => {
    let fetched = 0
    const library: Answer = (_request, response) => {
      fetched++
      response.setHeader('cache-control', 'max-age=600').setHeader('content-type', 'text/javascript').end('1')
    }
    routes.set('/lib.js', library)
    routes.set('/with-lib', '<!doctype html><p>x</p><script src="/lib.js"></script>')
    for (let again = 0; again < 30; again++) await renderer.html('/with-lib', { domain: 'many.example' })
    assert.equal(fetched, 1)
    await seenBy('/write', 'many.example')
    assert.deepEqual((await seenBy('/empty', 'many.example')).local, {})
  })

  it('more domains than there are contexts: each is served, none sees another', async () => {
    for (let domain = 0; domain < 10; domain++) {
      await seenBy('/write', `d${domain}.example`)
      assert.equal((await seenBy('/empty', `d${domain}.example`)).cookie, '')
    }
  })
})
