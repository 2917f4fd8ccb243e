import { scripted } from '../../support/renderer.ts'
import { html, inParts, json, page, script, type Theme } from '../corpus-page.ts'

/** What the platform has got of late, and what another process answers. */
export const platform: Theme = {
  'a lock that is had before anything is shown': {
    why: 'Another process gives it, in real time: sign-in libraries ask for one before each request.',
    document: scripted`navigator.locks.request('session', async (lock) => { const { text } = await (await fetch('data.json')).json()
            await navigator.locks.request('inner', { mode: 'shared' }, () => new Promise((done) => setTimeout(done, 1500))); show(lock.name + ' ' + text) })
          navigator.locks.request('for ever', () => new Promise(() => {})); navigator.locks.request('for ever', { ifAvailable: true }, (lock) => show('free: ' + (lock !== null)))`,
    parts: { 'data.json': json({ text: 'and data' }) },
    expect: { reads: ['session and data', 'free: false'] },
  },
  'questions to the browser before anything is shown': {
    why: 'Each is answered by another process, in real time, while the virtual clock runs out.',
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
  'what is asked of a person and never answered': {
    why: 'A passkey that is waited for, sound that may not be played: who waits for them waits for ever.',
    document: scripted`show('shown at once'); setTimeout(() => show('and later'), 2000); new AudioContext().resume().then(() => show('wrong'))
          navigator.credentials?.get?.({ mediation: 'conditional', publicKey: { challenge: new Uint8Array(16) } }).catch(() => {})`,
    expect: { reads: ['shown at once', 'and later'], readsNot: ['wrong'] },
  },
  'shadow roots declared in parts of a stream': {
    why: 'A root is attached where its template begins, and filled as it comes.',
    document: inParts(
      'text/html; charset=utf-8',
      [
        '<!DOCTYPE html><title>t</title><x-card><template shadowrootmode="open"><style>p{color:red}</style><p>first part</p>',
        '<slot></slot><p>second part</p></template>',
        '<b>slotted</b></x-card><script>const box = document.createElement("div"); document.body.append(box); box.setHTMLUnsafe("<x-late><template shadowrootmode=open><p>set by script</p></template></x-late>")</script>',
      ],
      150,
    ),
    expect: {
      reads: ['first part', 'second part', 'slotted', 'set by script'],
      has: ['shadowrootmode="open"'],
    },
  },
  'import maps with integrity, and modules fetched ahead': {
    why: 'A module whose sum is wrong must not run; what is preloaded must not be waited for twice.',
    document: page(
      `<ul id="out"></ul><script>function show(text) { out.insertAdjacentHTML('beforeend', '<li>' + text) }</script>
            <script type="importmap">{"imports":{"good":"./good.js"},"integrity":{"./bad.js":"sha384-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}</script>
            <script type="importmap">{"imports":{"second/":"./deep/"}}</script>
            <script type="module">import { text } from 'good'; show(text); import('second/one.js').then((m) => show(m.text)); import('./bad.js').then(() => show('wrong'), () => show('bad one refused'))</script>`,
      '<link rel="modulepreload" href="good.js"><link rel="preload" as="fetch" href="data.json" crossorigin><link rel="expect" blocking="render" href="#never">',
    ),
    parts: {
      'good.js': script(`export const text = 'good one'`, 100),
      'bad.js': script`export const text = 'bad'`,
      'deep/one.js': script(`export const text = 'deep one'`, 100),
      'data.json': json({}),
    },
    expect: { reads: ['good one', 'deep one', 'bad one refused'], readsNot: ['wrong'] },
  },
  'a select that shows what was chosen': {
    why: 'The browser copies the chosen option into the page: written twice it would be there twice.',
    document: page(
      '<select><button><selectedcontent></selectedcontent></button><option>one way</option><option selected>other way</option></select><p>below</p>',
      '<style>select, ::picker(select) { appearance: base-select }</style>',
    ),
    expect: { reads: ['below', 'other way'] },
  },
  'a page isolated from all others': {
    why: 'Its document changes processes, and shares memory with its workers.',
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
  'names of days, numbers and words in many tongues': {
    why: 'A browser packed small may have left its languages at home.',
    document: scripted`const day = new Date(Date.UTC(2026, 2, 3)); for (const tongue of ['de', 'ja', 'ar', 'hi']) show(tongue + ' ' + new Intl.DateTimeFormat(tongue, { weekday: 'long', timeZone: 'UTC' }).format(day))
          show(new Intl.NumberFormat('de-DE', { style: 'currency', currency: 'EUR' }).format(1234.5)); show(new Intl.ListFormat('fr').format(['un', 'deux'])); show(new Intl.DisplayNames('es', { type: 'region' }).of('DE')); show([...new Intl.Segmenter('th', { granularity: 'word' }).segment('สวัสดีครับ')].length + ' words')
          show(globalThis.Temporal ? Temporal.PlainDate.from('2026-03-03').add({ months: 1 }).toString() : '2026-04-03'); show('same day ' + (!globalThis.Temporal || Temporal.Now.plainDateISO('UTC').toString() === new Date().toISOString().slice(0, 10)))`,
    expect: {
      reads: [
        'de Dienstag',
        'ja 火曜日',
        'ar الثلاثاء',
        'hi मंगलवार',
        '1.234,50',
        'un et deux',
        'Alemania',
        '2 words',
        '2026-04-03',
        'same day true',
      ],
    },
  },
}
