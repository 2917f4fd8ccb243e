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
    // More than one process renders (src/render/tab/tab-pool.ts).
    for (let again = 0; again < 61; again++) await renderer.html('/with-lib', { domain: 'many.example' })
    assert.equal(fetched, 1)
    await seenBy('/write', 'many.example')
    assert.deepEqual((await seenBy('/empty', 'many.example')).local, {})
  })

  it('more domains than there are contexts: each is served, none sees another', async () => {
    for (let domain = 0; domain < 9; domain++) {
      await seenBy('/write', `d${domain}.example`)
      assert.equal((await seenBy('/empty', `d${domain}.example`)).cookie, '')
    }
  })
})

const seen = (path: string, domain = 'shop.example') => renderer.shown(path, { domain })

/** Of the same domain, of another, and of the same after another. */
async function nobodySees(
  path: string,
  expected: readonly (string | undefined)[],
  domain = 'shop.example',
): Promise<void> {
  assert.deepEqual(await seen(path, domain), expected)
  assert.deepEqual(await seen(path, `other-${domain}`), expected)
  assert.deepEqual(await seen(path, domain), expected)
}

describe('credentials', () => {
  it('of HTTP authentication that one render gave are not sent by the next', async () => {
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
    await nobodySees('/asks', ['401'])
    assert(heard.slice(before).every((header) => header === undefined))
  })

  it('in cookies of a path, a subdomain or a partition are gone as well', async () => {
    const cookies: (string | undefined)[] = []
    routes.set('/deep/set', (request, response) => {
      cookies.push(request.headers.cookie)
      response
        .setHeader('set-cookie', [
          ...['a=first; Path=/deep', 'b=first; HttpOnly; Secure; SameSite=None'],
          ...['c=first; HttpOnly; Secure; SameSite=None; Partitioned', '__Host-d=first; Path=/; Secure'],
        ])
        .end('{}')
    })
    const twice = `fetch('/deep/set').then(() => fetch('/deep/set')).then(() => show('done'))`
    routes.set('/cookies', scripted(twice))
    await nobodySees('/cookies', ['done'])
    const [first, second, third, , fifth] = cookies
    assert.deepEqual([first, third, fifth], [undefined, undefined, undefined])
    assert.match(second ?? '', /a=first.*b=first/)
  })
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

describe('names that lead into memory', () => {
  it('a blob: URL of one render leads nowhere in the next', async () => {
    routes.set(
      '/blob',
      scripted(`const url = URL.createObjectURL(new Blob(['first']))
      fetch(url).then((answer) => answer.text()).then((text) => { show(text); show(url) })`),
    )
    const [text, url] = await seen('/blob')
    assert.equal(text, 'first')
    assert.match(url ?? '', /^blob:https:\/\/shop\.example\//)
    routes.set('/blob-of-first', scripted(`fetch('${url}').then(() => show('found'), () => show('nothing'))`))
    await nobodySees('/blob-of-first', ['nothing'])
  })

  it('a name of a window finds no window of another render', async () => {
    routes.set('/named', scripted(`window.name = 'first'; document.title = 'first'; show('done')`))
    await seen('/named')
    const find = `const found = open('', 'first'); show(String(found)); show(window.name); show(String(opener))`
    routes.set('/finds', scripted(find))
    await nobodySees('/finds', ['null', '', 'null'])
  })
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

  it('a shared worker is of one render', async () => {
    const count = 'let count = 0; onconnect = ({ ports: [port] }) => port.postMessage(++count)'
    routes.set('/shared.js', javascript(count))
    const connect = `if (typeof SharedWorker === 'undefined') tell('none')
      else { const worker = new SharedWorker('/shared.js', 'a'); worker.port.onmessage = ({ data }) => tell(data) }`
    routes.set(
      '/shared',
      scripted(`window.prerenderReady = false
        const tell = (text) => { show(text); window.prerenderReady = true }
        fetch('/meet').then(() => { ${connect} })`),
    )
    const [left, right] = await together(['/shared', 'shop.example'], ['/shared', 'shop.example'])
    assert.deepEqual(left, right)
    assert(left[0] === '1' || left[0] === 'none', left[0])
  })

  it('locks are of one render', async () => {
    const lock = scripted(`window.prerenderReady = false
      navigator.locks.request('a', { ifAvailable: true }, async (lock) => {
        await fetch('/meet'); show(String(lock !== null)); window.prerenderReady = true })`)
    routes.set('/lock', lock)
    const had = await together(['/lock', 'shop.example'], ['/lock', 'shop.example'])
    assert.deepEqual(had, [['true'], ['true']])
  })
})

describe('what a page wants loaded for later', () => {
  it('speculation rules, prefetch and prerender run no page of tomorrow', async () => {
    routes.set('/tomorrow', scripted(`fetch('/ran-ahead'); show('tomorrow')`))
    routes.set('/ran-ahead', (_request, response) => void response.end('{}'))
    routes.set(
      '/speculates',
      scripted(
        `show('done')`,
        `<script type="speculationrules">{"prerender":[{"source":"list","urls":["/tomorrow"],"eagerness":"immediate"}],
          "prefetch":[{"source":"list","urls":["/tomorrow"],"eagerness":"immediate"}]}</script>
         <link rel="prerender" href="/tomorrow"><link rel="next" href="/tomorrow">`,
      ),
    )
    const before = renderer.asked.length
    await nobodySees('/speculates', ['done'])
    assert(!renderer.asked.slice(before).includes('/ran-ahead'))
  })

  it('a keepalive request or a beacon at the end of one render is none of the next', async () => {
    const from: (string | undefined)[] = []
    routes.set('/late', (request, response) => {
      from.push(request.headers['x-forwarded-host'] as string)
      response.setHeader('set-cookie', 'late=1').end()
    })
    await renderer.htmlOf(
      `addEventListener('pagehide', () => { navigator.sendBeacon('/late'); fetch('/late', { keepalive: true }) }); show('done')`,
    )
    routes.set('/arrives', scripted(`show('cookies: ' + document.cookie)`))
    await nobodySees('/arrives', ['cookies: '])
    for (const host of from) assert.equal(host, 'shop.example')
  })

  it('Clear-Site-Data, HSTS, NEL and reports of one render are no matter of another', async () => {
    routes.set('/policies', (_request, response) => {
      response
        .writeHead(200, {
          'content-type': 'text/html',
          'strict-transport-security': 'max-age=1000; includeSubDomains; preload',
          'reporting-endpoints': 'default="/reports"',
          'report-to':
            '{"group":"default","max_age":1000,"endpoints":[{"url":"https://shop.example/reports"}]}',
          nel: '{"report_to":"default","max_age":1000,"success_fraction":1}',
          'accept-ch': 'Sec-CH-UA-Model, Device-Memory',
          'critical-ch': 'Device-Memory',
          'content-security-policy': "default-src * 'unsafe-inline'; report-to default",
        })
        .end('<!doctype html><ul><li>done</li></ul>')
    })
    const heard: http.IncomingHttpHeaders[] = []
    routes.set('/after', (request, response) => {
      heard.push(request.headers)
      response.setHeader('content-type', 'text/html').end('<!doctype html><ul><li>after</li></ul>')
    })
    const before = renderer.asked.length
    await nobodySees('/after', ['after'])
    await seen('/policies')
    await nobodySees('/after', ['after'])
    assert(!renderer.asked.slice(before).includes('/reports'))
    for (const headers of heard)
      for (const hint of ['device-memory', 'sec-ch-device-memory', 'sec-ch-ua-model'])
        assert.equal(headers[hint], undefined)
  })
})
