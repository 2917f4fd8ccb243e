import { scripted } from '../../support/renderer.ts'
import { json, type Theme } from '../corpus-page.ts'

/** What a page may keep, which must be gone at the next render, and what it may ask of its browser. */
export const state: Theme = {
  name: 'state',
  pages: [
    {
      name: 'storage of the last visitor',
      why: 'A tab that is used again must not know who was there.',
      visits: 3,
      routes: {
        '': scripted(
          `for (const store of [localStorage, sessionStorage]) { show('found ' + store.getItem('visit')); store.setItem('visit', '1') } show('name ' + JSON.stringify(window.name)); window.name = 'x'; history.pushState({}, '', '?2'); show('state ' + history.length)`,
        ),
      },
      expect: { reads: ['found null found null name ""', 'state 2'], readsNot: ['found 1'] },
    },
    {
      name: 'cookies of the last visitor',
      why: 'Those of scripts and those of the origin.',
      visits: 3,
      routes: {
        '': (request, response) =>
          void response
            .writeHead(200, {
              'content-type': 'text/html',
              'set-cookie': ['origin=1; HttpOnly; Secure; SameSite=Lax', 'seen=1; Max-Age=9999'],
            })
            .end(
              scripted(
                `show('sent ${request.headers.cookie ?? 'none'}'); show('set ' + document.cookie); document.cookie = 'script=1; max-age=9999'`,
              ),
            ),
      },
      expect: { reads: ['sent none', 'set seen=1'], readsNot: ['script=1'] },
    },
    {
      name: 'cookies within one visit',
      why: 'A page that cannot keep a cookie for a moment shows a wall.',
      routes: {
        '': scripted(
          `document.cookie = 'consent=yes; path=/; secure'; fetch('who.txt').then((r) => r.text()).then(show)`,
        ),
        'who.txt': (request, response) =>
          void response
            .setHeader('content-type', 'text/plain')
            .end(`got ${request.headers.cookie ?? 'none'}`),
      },
      expect: { reads: ['got consent=yes'] },
    },
    {
      name: 'databases and caches of the last visitor',
      why: 'IndexedDB and the Cache API outlive a page.',
      visits: 2,
      routes: {
        '': scripted(`(async () => { show('caches ' + (await caches.keys()).length); await (await caches.open('c')).put('x', new Response('y'))
          const names = (await indexedDB.databases()).length; show('databases ' + names)
          const request = indexedDB.open('shop', 1); request.onupgradeneeded = () => request.result.createObjectStore('items').put('from the database', 1)
          request.onsuccess = () => { const get = request.result.transaction('items').objectStore('items').get(1); get.onsuccess = () => show(get.result) } })()`),
      },
      expect: { reads: ['caches 0', 'databases 0', 'from the database'] },
    },
    {
      name: 'an API with a memory of the last visitor',
      why: 'The HTTP cache stays warm, and yet data that must not be stored are asked for again.',
      visits: 2,
      routes: {
        '': scripted(
          `fetch('data.json', { cache: 'no-store' }).then((r) => r.json()).then(({ text }) => show(text))`,
        ),
        'data.json': json({ text: 'fresh data' }),
      },
      expect: { reads: ['fresh data'] },
    },
    {
      name: 'a secure context',
      why: 'Half of the platform exists on https only, whatever the origin speaks.',
      routes: {
        '': scripted(
          `show('secure ' + isSecureContext + ' ' + location.protocol); show('uuid ' + crypto.randomUUID().length); crypto.subtle.digest('SHA-256', new Uint8Array()).then((hash) => show('hash ' + hash.byteLength))`,
        ),
      },
      expect: { reads: ['secure true https:', 'uuid 36', 'hash 32'] },
    },
    {
      name: 'a browser like any other',
      why: 'Sites show robots something else, or nothing.',
      routes: {
        '': scripted(`show('driver ' + navigator.webdriver); show('agent ' + /^Mozilla\\/5\\.0 .*Chrome\\/\\d+/.test(navigator.userAgent) + ' ' + navigator.userAgent.includes('Headless')); show('languages ' + navigator.languages)
          show('brands ' + navigator.userAgentData.brands.some(({ brand }) => /headless/i.test(brand))); show('online ' + navigator.onLine); show('cookies ' + navigator.cookieEnabled); show('chrome ' + typeof window.chrome)`),
      },
      expect: {
        reads: [
          'driver false',
          'agent true false',
          'languages en-US,en',
          'brands false',
          'online true',
          'cookies true',
        ],
      },
    },
    {
      name: 'what the origin is told of the browser',
      why: 'Language and user agent of the request agree with those of scripts, and our name stands at the end.',
      routes: {
        '': (request, response) => {
          const {
            'user-agent': agent = '',
            'accept-language': language = '',
            'sec-ch-ua': brands = '',
          } = request.headers
          const text = `${/^Mozilla.*Chrome.* Prepaint\//.test(agent)} ${agent.includes('Headless')} ${/headless/i.test(String(brands))} ${language}`
          response
            .setHeader('content-type', 'text/html')
            .end(
              scripted(
                `show(${JSON.stringify(`told ${text}`)}); show('same ' + (navigator.userAgent === ${JSON.stringify(agent)}))`,
              ),
            )
        },
      },
      expect: { reads: ['told true false false en-US,en;q=0.9', 'same true'] },
    },
    {
      name: 'place and time',
      why: 'Dates and prices are written by the language and time zone of the browser, on every node alike.',
      routes: {
        '': scripted(
          `show('zone ' + Intl.DateTimeFormat().resolvedOptions().timeZone); show(new Date(0).toLocaleDateString()); show((1234.5).toLocaleString()); show('offset ' + new Date(0).getTimezoneOffset())`,
        ),
      },
      expect: { reads: ['zone UTC', '1/1/1970', '1,234.5', 'offset 0'] },
    },
    {
      name: 'things that need leave',
      why: 'Without a person to grant it, a question without an answer holds the page for ever.',
      routes: {
        '': scripted(`navigator.geolocation.getCurrentPosition(() => show('position'), (error) => show('no position ' + error.code))
          Notification.requestPermission().then((answer) => show('notices ' + answer)); navigator.permissions.query({ name: 'geolocation' }).then(({ state }) => show('geolocation ' + state))
          navigator.mediaDevices.getUserMedia({ video: true }).catch(() => show('no camera')); navigator.clipboard.readText().catch(() => show('no clipboard'))`),
      },
      expect: {
        reads: ['no position 1', 'notices denied', 'geolocation denied', 'no camera', 'no clipboard'],
      },
    },
    {
      name: 'ways out of the browser',
      why: 'Pages that look for them must find nothing, and go on.',
      routes: {
        '': scripted(
          `show('rtc ' + typeof window.RTCPeerConnection); show('transport ' + typeof window.WebTransport); fetch('file:///etc/passwd').catch(() => show('no files')); show('referrer ' + JSON.stringify(document.referrer))`,
        ),
      },
      expect: { reads: ['rtc undefined', 'transport undefined', 'no files', 'referrer ""'] },
    },
    {
      name: 'the shims, looked at by the page',
      why: 'Feature tests and polyfills must find what a browser has.',
      routes: {
        '': scripted(`show('names ' + [requestAnimationFrame.name, IntersectionObserver.name, Worker.name]); show('lengths ' + [requestAnimationFrame.length, IntersectionObserver.length])
          try { new IntersectionObserver() } catch (error) { show(error.name) } try { IntersectionObserver(() => {}) } catch (error) { show(error.name) } show('ours ' + Object.keys(window).filter((key) => /prepaint/i.test(key)).length)
          for (const Observer of [IntersectionObserver, ResizeObserver]) { const names = []; const one = new Observer(() => {}); for (const name in one) if (typeof one[name] === 'function') names.push(name); show(String(one) + ' ' + names.sort()) }
          show('entry ' + ('isIntersecting' in IntersectionObserverEntry.prototype)); show('worker ' + (Worker.prototype.postMessage.length > 0))`),
      },
      expect: {
        reads: [
          'names requestAnimationFrame,IntersectionObserver,Worker lengths 1,1 TypeError TypeError',
          'ours 0',
          '[object IntersectionObserver] disconnect,observe,takeRecords,unobserve',
          '[object ResizeObserver] disconnect,observe,unobserve',
          'entry true',
          'worker true',
        ],
      },
    },
  ],
}
