/**
 * Nothing of one render is seen by another: of the same domain, of another domain, one after the other or side by side.
 * Each way is shown to work inside one render first, where a browser lets a page use it at all.
 */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { describe, it } from 'node:test'
import { type Answer, javascript, openRenderer, scripted } from '../../../../test/support/renderer.ts'

const renderer = await openRenderer()
const { routes } = renderer

/** Reads everything a page can find, as JSON in its only line. */
const READ = `
  async function read() {
    const caches_ = 'caches' in window ? await caches.keys() : []
    const databases = (await indexedDB.databases()).map(({ name }) => name)
    const workers = 'serviceWorker' in navigator ? (await navigator.serviceWorker.getRegistrations()).length : 0
    const root = await navigator.storage.getDirectory()
    const files = await root.getFileHandle('first').then(() => ['first'], () => [])
    return { cookie: document.cookie, local: { ...localStorage }, session: { ...sessionStorage }, databases, caches: caches_,
      workers, files, name: window.name, history: history.length, state: history.state, opener: String(window.opener),
      referrer: document.referrer }
  }
  const tell = async () => show(JSON.stringify(await read()))`
const NOTHING = {
  cookie: '',
  local: {},
  session: {},
  databases: [],
  caches: [],
  workers: 0,
  files: [],
  name: '',
  history: 1,
  state: null,
  opener: 'null',
  referrer: '',
}

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

const EMPTY = scripted(`${READ}; tell()`)
const WRITING = `${scripted(`${READ}; ${WRITE}; written.then(tell)`)}<iframe src="/own-frame"></iframe>`
routes.set('/sw.js', javascript('onfetch = () => {}'))
routes.set(
  '/own-frame',
  '<script>localStorage.frame = "first"; document.cookie = "frame=first"; parent.postMessage("done", "*")</script>',
)

let pages = 0
/** What the page has shown, at an address of its own. */
function seen(page: Answer, domain = 'shop.example'): Promise<string[]> {
  const path = `/page-${++pages}`
  routes.set(path, page)
  return renderer.shown(path, { domain })
}
const found = async (page: Answer, domain?: string) => JSON.parse((await seen(page, domain))[0]!)

describe('between renders', () => {
  it('a first render sees what it writes itself, the next of the same domain sees nothing of it', async () => {
    const first = await found(WRITING)
    // The other half: without it the test would pass in a browser that stores nothing.
    assert.match(first.cookie, /who=first/)
    const { local, session, databases, caches, files, name, workers } = first
    assert.deepEqual([local.who, local.frame, session.who, name, workers], [...Array(4).fill('first'), 1])
    assert.deepEqual([databases, caches, files], [['first'], ['first'], ['first']])
    for (let again = 0; again < 3; again++) assert.deepEqual(await found(EMPTY), NOTHING)
  })

  it('a page can neither go back to the page of the render before nor see it', async () => {
    const look = `const seen = () => [history.length, navigation.entries().length, navigation.currentEntry.index, navigation.canGoBack, navigation.activation?.from ?? null]
      const tell = () => show(JSON.stringify(found))`
    const goesBack = scripted(`${look}; const found = [seen()]; history.back(); history.go(-1)
      navigation.back().committed.catch(({ name }) => found.push(name))
      setTimeout(tell, 1000)`)
    // Where it has been itself it can go.
    const goesAbout =
      scripted(`${look}; const found = [], own = location.pathname; onload = () => setTimeout(() => {
      history.pushState(null, '', '/pushed'); found.push(seen())
      onpopstate = async () => { onpopstate = null; found.push(location.pathname === own, navigation.currentEntry.index)
        await navigation.forward().committed; found.push(location.pathname); tell() }
      history.back() })`)
    for (const [page, expected] of [
      [goesBack, [[1, 1, 0, false, null], 'InvalidStateError']],
      [goesAbout, [[2, 2, 1, true, null], true, 0, '/pushed']],
    ] as const) {
      await seen('<!doctype html><p>the page before</p>', 'history.example')
      assert.deepEqual(await found(page, 'history.example'), expected)
    }
  })

  it('the HTTP cache stays warm, and nothing else, also when the page is replaced after some renders', async () => {
    let fetched = 0
    routes.set('/lib.js', (_request, response) => {
      fetched++
      response.setHeader('cache-control', 'max-age=600').setHeader('content-type', 'text/javascript').end('1')
    })
    routes.set('/with-lib', '<!doctype html><p>x</p><script src="/lib.js"></script>')
    // More than one process renders (packages/engine/src/render/tab/tab-pool.ts).
    for (let again = 0; again < 61; again++) await renderer.html('/with-lib', { domain: 'many.example' })
    assert.equal(fetched, 1)
    await found(WRITING, 'many.example')
    assert.deepEqual(await found(EMPTY, 'many.example'), NOTHING)
  })

  it('more domains than there are contexts: each is served, none sees another, nor itself when it comes back', async () => {
    for (let domain = 0; domain < 9; domain++) {
      await found(WRITING, `d${domain}.example`)
      for (const next of [domain + 1, domain])
        assert.deepEqual(await found(EMPTY, `d${next}.example`), NOTHING)
    }
  })
})

/** Of the same domain, of another, and of the same after another. */
async function nobodySees(expected: readonly string[], page: Answer): Promise<void> {
  for (const domain of ['shop.example', 'other-shop.example', 'shop.example'])
    assert.deepEqual(await seen(page, domain), expected)
}

describe('credentials', () => {
  it('of HTTP authentication that one render gave are not sent by the next', async () => {
    const heard: (string | undefined)[] = []
    routes.set('/auth', ({ headers }, response) => {
      heard.push(headers.authorization)
      if (headers.authorization !== undefined) response.end('welcome')
      else response.writeHead(401, { 'www-authenticate': 'Basic realm="a"' }).end('who?')
    })
    const ask = (credentials: string) =>
      scripted(`const x = new XMLHttpRequest(); x.open('GET', '/auth', true${credentials})
        x.onloadend = () => show(x.status); x.send()`)
    assert.deepEqual(await seen(ask(', "user", "of-the-first"')), ['200'])
    const before = heard.length
    await nobodySees(['401'], ask(''))
    assert(heard.slice(before).every((header) => header === undefined))
  })

  it('in cookies of a path, a subdomain or a partition are gone as well', async () => {
    const cookies: (string | undefined)[] = []
    routes.set('/deep/set', ({ headers }, response) => {
      cookies.push(headers.cookie)
      response
        .setHeader('set-cookie', [
          'a=first; Path=/deep',
          'b=first; HttpOnly; Secure; SameSite=None',
          'c=first; HttpOnly; Secure; SameSite=None; Partitioned',
          '__Host-d=first; Path=/; Secure',
        ])
        .end('{}')
    })
    const twice = `fetch('/deep/set').then(() => fetch('/deep/set')).then(() => show('done'))`
    await nobodySees(['done'], scripted(twice))
    const [first, second, third, , fifth] = cookies
    assert.deepEqual([first, third, fifth], [undefined, undefined, undefined])
    assert.match(second ?? '', /a=first.*b=first/)
  })
})

// Which hosts get them: packages/engine/src/gateway/gateway.test.ts.
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
    const [text, url] = await seen(
      scripted(`const url = URL.createObjectURL(new Blob(['first']))
      fetch(url).then((answer) => answer.text()).then((text) => { show(text); show(url) })`),
    )
    assert.equal(text, 'first')
    assert.match(url ?? '', /^blob:https:\/\/shop\.example\//)
    const asks = scripted(`fetch('${url}').then(() => show('found'), () => show('nothing'))`)
    await nobodySees(['nothing'], asks)
  })

  it('a name of a window finds no window of another render', async () => {
    await seen(scripted(`window.name = 'first'; show('done')`))
    const finds = scripted(`show(String(open('', 'first'))); show(window.name); show(String(opener))`)
    await nobodySees(['null', '', 'null'], finds)
  })
})

describe('channels between pages that are open at once', () => {
  /** Neither page is answered before both have asked. */
  async function together(left: Answer, right: Answer, domain = 'shop.example') {
    const waiting: http.ServerResponse[] = []
    routes.set('/meet', (_request, response) => {
      waiting.push(response)
      if (waiting.length === 2) for (const each of waiting) each.end('{}')
    })
    return Promise.all([seen(left), seen(right, domain)])
  }
  const channel = (own: string) =>
    scripted(`const heard = new Set(); const channel = new BroadcastChannel('a'), echo = new BroadcastChannel('a')
      window.prerenderReady = false
      addEventListener('storage', ({ key }) => heard.add(key))
      channel.onmessage = ({ data }) => { heard.add(data)
        // Itself it has heard; what others said before would be here as well.
        if (data === '${own}') fetch('/heard').then(() => { show('heard ' + [...heard].sort().join()); window.prerenderReady = true }) }
      fetch('/meet').then(() => { localStorage.setItem('${own}', 1); echo.postMessage('${own}') })`)
  routes.set('/heard', (_request, response) => void setTimeout(() => response.end('{}'), 200))

  for (const domain of ['shop.example', 'blue.example'])
    it(`BroadcastChannel and storage events: a page hears itself, no other of ${domain}`, async () => {
      const heard = await together(channel('left'), channel('right'), domain)
      assert.deepEqual(heard, [['heard left'], ['heard right']])
    })

  it('a shared worker of one render is not there in the next', async () => {
    const count = 'let count = 0; onconnect = ({ ports: [port] }) => port.postMessage(++count)'
    routes.set('/shared.js', javascript(count))
    const page = scripted(`window.prerenderReady = false
      const tell = (text) => { show(text); window.prerenderReady = true }
      fetch('/meet').then(() => { if (typeof SharedWorker === 'undefined') tell('none')
        else new SharedWorker('/shared.js', 'a').port.onmessage = ({ data }) => tell(data) })`)
    const [left, right] = await together(page, page)
    assert.deepEqual(left, right)
    assert(left[0] === '1' || left[0] === 'none', left[0])
  })

  it('locks are of one render', async () => {
    const lock = scripted(`window.prerenderReady = false
      navigator.locks.request('a', { ifAvailable: true }, async (lock) => {
        await fetch('/meet'); show(String(lock !== null)); window.prerenderReady = true })`)
    assert.deepEqual(await together(lock, lock), [['true'], ['true']])
  })
})

describe('what a page wants loaded for later', () => {
  it('speculation rules, prefetch and prerender run no page of tomorrow', async () => {
    routes.set('/tomorrow', scripted(`fetch('/ran-ahead'); show('tomorrow')`))
    const speculates = scripted(
      `show('done')`,
      `<script type="speculationrules">{"prerender":[{"source":"list","urls":["/tomorrow"],"eagerness":"immediate"}],
        "prefetch":[{"source":"list","urls":["/tomorrow"],"eagerness":"immediate"}]}</script>
       <link rel="prerender" href="/tomorrow"><link rel="next" href="/tomorrow">`,
    )
    await nobodySees(['done'], speculates)
    assert(!renderer.asked.includes('/ran-ahead'))
  })

  it('a keepalive request or a beacon at the end of one render is none of the next', async () => {
    const from: unknown[] = []
    routes.set('/late', ({ headers }, response) => {
      from.push(headers['x-forwarded-host'])
      response.setHeader('set-cookie', 'late=1').end()
    })
    const sends = scripted(
      `const send = () => { navigator.sendBeacon('/late'); fetch('/late', { keepalive: true }) }
      addEventListener('pagehide', send); send(); show('done')`,
    )
    await seen(sends)
    await nobodySees(['cookies: '], scripted(`show('cookies: ' + document.cookie)`))
    assert(from.length > 0, 'those of the render itself arrive')
    for (const host of from) assert.equal(host, 'shop.example')
  })

  it('Clear-Site-Data, HSTS, NEL and reports of one render are no matter of another', async () => {
    const url = 'https://shop.example/reports'
    const policies = {
      'content-type': 'text/html',
      'strict-transport-security': 'max-age=1000; includeSubDomains; preload',
      'reporting-endpoints': 'default="/reports"',
      'report-to': `{"group":"default","max_age":1000,"endpoints":[{"url":"${url}"}]}`,
      nel: '{"report_to":"default","max_age":1000,"success_fraction":1}',
      'accept-ch': 'Sec-CH-UA-Model, Device-Memory',
      'critical-ch': 'Device-Memory',
      'content-security-policy': "default-src * 'unsafe-inline'; report-to default",
    }
    await seen((_request, response) => response.writeHead(200, policies).end(scripted(`show('done')`)))
    await nobodySees(['after'], ({ headers }, response) => {
      for (const hint of ['device-memory', 'sec-ch-device-memory', 'sec-ch-ua-model'])
        assert.equal(headers[hint], undefined)
      response.setHeader('content-type', 'text/html').end(scripted(`show('after')`))
    })
    assert(!renderer.asked.includes('/reports'))
  })
})

describe('a page that stays asleep in its tab until the next render: that one finds nothing of it', async () => {
  const one = await openRenderer({ slots: 1, timeoutMs: 60_000 })

  const KEPT = `JSON.stringify({ cookie: document.cookie, local: { ...localStorage }, session: { ...sessionStorage } })`
  const NONE = JSON.stringify({ cookie: '', local: {}, session: {} })
  const writes = (what: string) =>
    `document.cookie = '${what}=1'; localStorage.${what} = 1; sessionStorage.${what} = 1`
  one.routes.set('/next', scripted(`show(${KEPT}); setTimeout(() => show('later ' + ${KEPT}), 3000)`))

  /** The page, and what the next one in the same tab finds: nothing. */
  async function isForgotten(name: string, script: string): Promise<void> {
    one.routes.set(`/${name}`, scripted(`show('a'); ${script}`))
    const domain = `${name}.example`
    await one.html(`/${name}`, { domain })
    assert.deepEqual(await one.shown('/next', { domain }), [NONE, `later ${NONE}`])
  }

  const PAGES: Record<string, string> = {
    'has written': writes('written'),
    'has timers still to come': `setTimeout(() => { ${writes('timer')} }, 60000); setInterval(() => { ${writes('interval')} }, 700)`,
    'posts itself messages for ever': `const { port1, port2 } = new MessageChannel(); port1.onmessage = () => { ${writes('message')}; setTimeout(() => port2.postMessage(1), 50) }; port2.postMessage(1)`,
    'listens to its end': `for (const event of ['beforeunload', 'pageswap', 'pagehide', 'unload', 'visibilitychange']) { addEventListener(event, () => { ${writes('farewell')} }); window['on' + event] = () => { ${writes('handler')} } }`,
    'listens to its end after document.open': `setTimeout(() => { document.open(); document.write('<!doctype html><p>new</p>'); document.close(); for (const event of ['pagehide', 'unload']) addEventListener(event, () => { ${writes('reopened')} }) }, 100)`,
    'has a frame that listens to its end': `const frame = document.createElement('iframe'); frame.srcdoc = "<script>addEventListener('pagehide', () => { ${writes('inner')} })</" + "script>"; document.body.append(frame)`,
    'has replaced what tells the date': `window.File = window.Date = class { lastModified = 0; static now() { return 0 } }`,
  }
  for (const [name, script] of Object.entries(PAGES))
    it(name, () => isForgotten(name.replaceAll(/\W+/g, '-'), script))

  it('shared workers and open requests are left before the next page comes', async () => {
    one.routes.set('/worker.js', javascript(`setInterval(() => fetch('/beat'), 50)`))
    let slow = () => {}
    one.routes.set('/slow', (_request, response) => {
      slow = () => response.setHeader('set-cookie', 'slow=1').end('{}')
    })
    const soon = `setTimeout(() => { window.prerenderReady = true }, 100)`
    await isForgotten('worker', `window.worker = new SharedWorker('/worker.js'); ${soon}`)
    await isForgotten('slow', `fetch('/slow').catch(() => {}); window.prerenderReady = true`)
    slow()
    const before = one.asked.filter((path) => path === '/beat').length
    await one.html('/next', { domain: 'worker.example' })
    assert.equal(one.asked.filter((path) => path === '/beat').length, before)
  })
})
