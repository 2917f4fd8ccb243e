import { scripted } from '../../support/renderer.ts'
import { html, json, page, type Theme } from '../corpus-page.ts'

/** What the platform has got of late, and what another process answers. */
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
}
