import { scripted } from '../../support/renderer.ts'
import { html, json, page, type Theme } from '../corpus-page.ts'

/** What a page may keep and ask of its browser, and pages that fail or change what a renderer relies on. */
export const platform: Theme = {
  'a lock that is had before anything is shown': {
    document: scripted`navigator.locks.request('session', async (lock) => { const { text } = await (await fetch('data.json')).json()
            await navigator.locks.request('inner', { mode: 'shared' }, () => new Promise((done) => setTimeout(done, 1500))); show(lock.name + ' ' + text) })
          navigator.locks.request('for ever', () => new Promise(() => {})); navigator.locks.request('for ever', { ifAvailable: true }, (lock) => show('free: ' + (lock !== null)))`,
    parts: { 'data.json': json({ text: 'and data' }) },
    expect: { reads: ['session and data', 'free: false'] },
  },
  'questions to the browser before anything is shown': {
    document: scripted`const asked = {
            passkeys: () => PublicKeyCredential.isConditionalMediationAvailable(), payment: () => new PaymentRequest([{ supportedMethods: 'https://pay.example/' }], { total: { label: 't', amount: { currency: 'EUR', value: '1' } } }).canMakePayment().catch(() => 0),
            codec: () => navigator.mediaCapabilities.decodingInfo({ type: 'file', audio: { contentType: 'audio/mpeg' } }), drm: () => navigator.requestMediaKeySystemAccess('org.w3.clearkey', [{ audioCapabilities: [{ contentType: 'audio/mp4; codecs="mp4a.40.2"' }] }]).catch(() => 0),
            sound: () => new OfflineAudioContext(1, 4410, 44100).startRendering(), battery: () => navigator.getBattery?.(), glasses: () => navigator.xr?.isSessionSupported('inline'), picture: () => ImageDecoder.isTypeSupported('image/png'),
            access: () => document.hasStorageAccess(), model: () => globalThis.LanguageModel?.availability(), place: () => new Promise((done) => navigator.geolocation.getCurrentPosition(done, done)), files: async () => { for await (const [name] of await navigator.storage.getDirectory()) show(name) },
          }; for (const [name, ask] of Object.entries(asked)) ask().then(() => show('knows ' + name), ({ message }) => show(name + ' failed: ' + message))`,
    expect: {
      reads: [
        ...['passkeys', 'payment', 'codec', 'drm', 'sound', 'battery'],
        ...['glasses', 'picture', 'access', 'model', 'place', 'files'],
      ].map((name) => `knows ${name}`),
    },
  },
  'a select that shows what was chosen': {
    document: page(
      '<select><button><selectedcontent></selectedcontent></button><option>one way</option><option selected>other way</option></select><p>below</p>',
      '<style>select, ::picker(select) { appearance: base-select }</style>',
    ),
    expect: { reads: ['below', 'other way'] },
  },
  'a page isolated from all others': {
    document: html(
      scripted`show('isolated ' + crossOriginIsolated); const shared = new Int32Array(new SharedArrayBuffer(4)); const worker = new Worker('worker.js'); worker.postMessage(shared)
            Atomics.waitAsync(shared, 0, 0).value.then?.((how) => show('woken: ' + how + ' ' + shared[0]))`,
      {
        headers: {
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-embedder-policy': 'require-corp',
        },
      },
    ),
    parts: {
      'worker.js': (_request, response) =>
        void response
          .writeHead(200, {
            'content-type': 'text/javascript',
            'cross-origin-embedder-policy': 'require-corp',
          })
          .end(`onmessage = ({ data }) => { Atomics.store(data, 0, 7); Atomics.notify(data, 0) }`),
    },
    expect: { reads: ['isolated true', 'woken: ok 7'] },
  },
  'cookies within one visit': {
    document: scripted`document.cookie = 'consent=yes; path=/; secure'; fetch('who.txt').then((r) => r.text()).then(show)`,
    parts: {
      'who.txt': (request, response) =>
        void response.setHeader('content-type', 'text/plain').end(`got ${request.headers.cookie ?? 'none'}`),
    },
    expect: { reads: ['got consent=yes'] },
  },
  'things that need leave': {
    document: scripted`navigator.geolocation.getCurrentPosition(() => show('position'), (error) => show('no position ' + error.code))
          Notification.requestPermission().then((answer) => show('notices ' + answer)); navigator.permissions.query({ name: 'geolocation' }).then(({ state }) => show('geolocation ' + state))
          navigator.mediaDevices.getUserMedia({ video: true }).catch(() => show('no camera')); navigator.clipboard.readText().catch(() => show('no clipboard'))`,
    expect: {
      reads: ['no position 1', 'notices denied', 'geolocation denied', 'no camera', 'no clipboard'],
    },
  },
  'the shims, looked at by the page': {
    document: scripted`show('names ' + [requestAnimationFrame.name, IntersectionObserver.name, Worker.name]); show('lengths ' + [requestAnimationFrame.length, IntersectionObserver.length])
          try { new IntersectionObserver() } catch (error) { show(error.name) } try { IntersectionObserver(() => {}) } catch (error) { show(error.name) } show('ours ' + Object.keys(window).filter((key) => /prepaint/i.test(key)).length)
          for (const Observer of [IntersectionObserver, ResizeObserver]) { const names = []; const one = new Observer(() => {}); for (const name in one) if (typeof one[name] === 'function') names.push(name); show(String(one) + ' ' + names.sort()) }
          show('entry ' + ('isIntersecting' in IntersectionObserverEntry.prototype)); show('worker ' + (Worker.prototype.postMessage.length > 0))`,
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
  dialogs: {
    document: scripted`alert('hello'); show('confirm ' + confirm('sure?')); show('prompt ' + prompt('name?')); print(); show('after')`,
    expect: { reads: ['confirm false', 'prompt null', 'after'] },
  },
  'document.write, while parsing and after': {
    document: page`<script>document.write('<p>written in time</p>')</script><script>setTimeout(() => { document.open(); document.write('<!DOCTYPE html><title>new</title><p>a new document</p><script>setTimeout(() => document.body.append("and its timer"), 900)<\\/script>'); document.close() }, 300)</script>`,
    expect: { reads: ['a new document', 'and its timer'], readsNot: ['written in time'] },
  },
  'timers that are replaced': {
    document: scripted`const real = setTimeout; window.setTimeout = (f, ms, ...rest) => real(() => { f(...rest) }, ms); const raf = requestAnimationFrame.bind(window); window.requestAnimationFrame = (f) => raf((now) => f(now))
          window.Promise = class extends Promise {}; setTimeout(() => requestAnimationFrame(() => show('through both')), 700)`,
    expect: { reads: ['through both'] },
  },
  'a page that removes its own document': {
    document: page`<p>x</p><script>setTimeout(() => document.documentElement.remove(), 100)</script>`,
    expect: { outcome: 'not-html' },
  },
  'a page without a body': {
    document:
      '<!DOCTYPE html><html><head><title>t</title></head><frameset cols="*"><frame src="inner"></frameset></html>',
    parts: { inner: '<p>x</p>' },
    expect: { has: ['<frameset cols="*"><frame src="inner"></frameset>'] },
  },
}
