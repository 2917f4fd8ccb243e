import { scripted } from '../../support/renderer.ts'
import { html, inParts, json, page, script, type Theme } from '../corpus-page.ts'

/** What the platform has got of late, and what another process answers. */
export const platform: Theme = {
  name: 'platform',
  pages: [
    {
      name: 'a lock that is had before anything is shown',
      why: 'Another process gives it, in real time: sign-in libraries ask for one before each request.',
      routes: {
        '': scripted(`navigator.locks.request('session', async (lock) => { const { text } = await (await fetch('data.json')).json()
            await navigator.locks.request('inner', { mode: 'shared' }, () => new Promise((done) => setTimeout(done, 1500))); show(lock.name + ' ' + text) })
          navigator.locks.request('for ever', () => new Promise(() => {})); navigator.locks.request('for ever', { ifAvailable: true }, (lock) => show('free: ' + (lock !== null)))`),
        'data.json': json({ text: 'and data' }),
      },
      expect: { reads: ['session and data', 'free: false'] },
    },
    {
      name: 'questions to the browser before anything is shown',
      why: 'Each is answered by another process, in real time, while the virtual clock runs out.',
      routes: {
        '': scripted(`const asked = {
            passkeys: () => PublicKeyCredential.isConditionalMediationAvailable(), payment: () => new PaymentRequest([{ supportedMethods: 'https://pay.example/' }], { total: { label: 't', amount: { currency: 'EUR', value: '1' } } }).canMakePayment().catch(() => 0),
            codec: () => navigator.mediaCapabilities.decodingInfo({ type: 'file', audio: { contentType: 'audio/mpeg' } }), drm: () => navigator.requestMediaKeySystemAccess('org.w3.clearkey', [{ audioCapabilities: [{ contentType: 'audio/mp4; codecs="mp4a.40.2"' }] }]).catch(() => 0),
            sound: () => new OfflineAudioContext(1, 4410, 44100).startRendering(), battery: () => navigator.getBattery?.(), glasses: () => navigator.xr?.isSessionSupported('inline'), picture: () => ImageDecoder.isTypeSupported('image/png'),
            access: () => document.hasStorageAccess(), model: () => globalThis.LanguageModel?.availability(), place: () => new Promise((done) => navigator.geolocation.getCurrentPosition(done, done)), files: async () => { for await (const [name] of await navigator.storage.getDirectory()) show(name) },
          }; for (const [name, ask] of Object.entries(asked)) ask().then(() => show('knows ' + name), ({ message }) => show(name + ' failed: ' + message))`),
      },
      expect: {
        reads: [
          ...['passkeys', 'payment', 'codec', 'drm', 'sound', 'battery'],
          ...['glasses', 'picture', 'access', 'model', 'place', 'files'],
        ].map((name) => `knows ${name}`),
      },
    },
    {
      name: 'what is asked of a person and never answered',
      why: 'A passkey that is waited for, sound that may not be played: who waits for them waits for ever.',
      routes: {
        '': scripted(`show('shown at once'); setTimeout(() => show('and later'), 2000); new AudioContext().resume().then(() => show('wrong'))
          navigator.credentials?.get?.({ mediation: 'conditional', publicKey: { challenge: new Uint8Array(16) } }).catch(() => {})`),
      },
      expect: { reads: ['shown at once', 'and later'], readsNot: ['wrong'] },
    },
    {
      name: 'shadow roots declared in parts of a stream',
      why: 'A root is attached where its template begins, and filled as it comes.',
      routes: {
        '': inParts(
          'text/html; charset=utf-8',
          [
            '<!DOCTYPE html><title>t</title><x-card><template shadowrootmode="open"><style>p{color:red}</style><p>first part</p>',
            '<slot></slot><p>second part</p></template>',
            '<b>slotted</b></x-card><script>const box = document.createElement("div"); document.body.append(box); box.setHTMLUnsafe("<x-late><template shadowrootmode=open><p>set by script</p></template></x-late>")</script>',
          ],
          150,
        ),
      },
      expect: {
        reads: ['first part', 'second part', 'slotted', 'set by script'],
        has: ['shadowrootmode="open"'],
      },
    },
    {
      name: 'import maps with integrity, and modules fetched ahead',
      why: 'A module whose sum is wrong must not run; what is preloaded must not be waited for twice.',
      routes: {
        '': html(
          page(
            `<ul id="out"></ul><script>function show(text) { out.insertAdjacentHTML('beforeend', '<li>' + text) }</script>
            <script type="importmap">{"imports":{"good":"./good.js"},"integrity":{"./bad.js":"sha384-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}</script>
            <script type="importmap">{"imports":{"second/":"./deep/"}}</script>
            <script type="module">import { text } from 'good'; show(text); import('second/one.js').then((m) => show(m.text)); import('./bad.js').then(() => show('wrong'), () => show('bad one refused'))</script>`,
            '<link rel="modulepreload" href="good.js"><link rel="preload" as="fetch" href="data.json" crossorigin><link rel="expect" blocking="render" href="#never">',
          ),
        ),
        'good.js': script(`export const text = 'good one'`, 100),
        'bad.js': script(`export const text = 'bad'`),
        'deep/one.js': script(`export const text = 'deep one'`, 100),
        'data.json': json({}),
      },
      expect: { reads: ['good one', 'deep one', 'bad one refused'], readsNot: ['wrong'] },
    },
    {
      name: 'rules that tell which pages to open ahead',
      why: 'A browser that obeyed them would run other pages in the time of this one.',
      routes: {
        '': html(
          page(
            `<a href="next">next</a><ul id="out"></ul><script>fetch('count.json').then((r) => r.json()).then(() => setTimeout(() => fetch('count.json?again').then((r) => r.json()).then(({ n }) => { out.innerHTML = '<li>run ahead: ' + n }), 600))</script>`,
            '<script type="speculationrules">{"prerender":[{"source":"list","urls":["next"],"eagerness":"immediate"}],"prefetch":[{"source":"document","eagerness":"immediate"}]}</script>',
          ),
        ),
        ...runAhead(),
      },
      expect: { reads: ['run ahead: 0'], hasNot: ['speculationrules'] },
    },
    {
      name: 'a select that shows what was chosen',
      why: 'The browser copies the chosen option into the page: written twice it would be there twice.',
      routes: {
        '': html(
          page(
            '<select><button><selectedcontent></selectedcontent></button><option>one way</option><option selected>other way</option></select><p>below</p>',
            '<style>select, ::picker(select) { appearance: base-select }</style>',
          ),
        ),
      },
      expect: { reads: ['below', 'other way'] },
    },
    {
      name: 'rules of the newest kinds in adopted sheets',
      why: 'What is written from the object model has to be what was put in.',
      routes: {
        '': scripted(`const sheet = new CSSStyleSheet(); sheet.replaceSync('@scope (.card) to (.inner) { p { color: red } } @starting-style { .card { opacity: 0 } } @property --x { syntax: "<length>"; inherits: false; initial-value: 3px } @container (width > 10px) { p { margin: 0 } } @layer a { p { &:hover { color: blue } } } @position-try --below { top: anchor(bottom) }')
          document.adoptedStyleSheets = [sheet]; show('styled')`),
      },
      expect: {
        reads: ['styled'],
        has: [
          '@scope (.card) to (.inner)',
          '@starting-style',
          '@property --x',
          '@position-try --below',
          '&:hover',
        ],
      },
    },
    {
      name: 'a page isolated from all others',
      why: 'Its document changes processes, and shares memory with its workers.',
      routes: {
        '': html(
          scripted(`show('isolated ' + crossOriginIsolated); const shared = new Int32Array(new SharedArrayBuffer(4)); const worker = new Worker('worker.js'); worker.postMessage(shared)
            Atomics.waitAsync(shared, 0, 0).value.then?.((how) => show('woken: ' + how + ' ' + shared[0]))`),
          {
            headers: {
              'cross-origin-opener-policy': 'same-origin',
              'cross-origin-embedder-policy': 'require-corp',
            },
          },
        ),
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
    {
      name: 'names of days, numbers and words in many tongues',
      why: 'A browser packed small may have left its languages at home.',
      routes: {
        '': scripted(`const day = new Date(Date.UTC(2026, 2, 3)); for (const tongue of ['de', 'ja', 'ar', 'hi']) show(tongue + ' ' + new Intl.DateTimeFormat(tongue, { weekday: 'long', timeZone: 'UTC' }).format(day))
          show(new Intl.NumberFormat('de-DE', { style: 'currency', currency: 'EUR' }).format(1234.5)); show(new Intl.ListFormat('fr').format(['un', 'deux'])); show(new Intl.DisplayNames('es', { type: 'region' }).of('DE')); show([...new Intl.Segmenter('th', { granularity: 'word' }).segment('สวัสดีครับ')].length + ' words')
          show(globalThis.Temporal ? Temporal.PlainDate.from('2026-03-03').add({ months: 1 }).toString() : '2026-04-03'); show('same day ' + (!globalThis.Temporal || Temporal.Now.plainDateISO('UTC').toString() === new Date().toISOString().slice(0, 10)))`),
      },
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
    {
      name: 'transformations by XSLT',
      why: 'Browsers are taking it away; a page then brings its own.',
      routes: {
        '': scripted(`const parse = (text) => new DOMParser().parseFromString(text, 'text/xml'); if (typeof XSLTProcessor === 'undefined') show('transformed: shoes'); else { const processor = new XSLTProcessor()
          processor.importStylesheet(parse('<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"><b>transformed: <xsl:value-of select="a"/></b></xsl:template></xsl:stylesheet>'))
          document.body.append(processor.transformToFragment(parse('<a>shoes</a>'), document)) }`),
      },
      expect: { reads: ['transformed: shoes'] },
    },
    {
      name: 'symbols of another document',
      why: 'They are drawn from a file that the page does not hold; the words beside them are in the page.',
      routes: {
        '': html(
          page(
            '<svg><use href="sprite.svg#cart"></use><title>Cart</title><text>3 things</text></svg><p>checkout</p>',
          ),
        ),
        'sprite.svg': (_request, response) =>
          void response
            .setHeader('content-type', 'image/svg+xml')
            .end('<svg xmlns="http://www.w3.org/2000/svg"><symbol id="cart"><path d="M0 0"/></symbol></svg>'),
      },
      expect: { reads: ['checkout', '3 things'], has: ['href="sprite.svg#cart"'] },
    },
  ],
}

/** Counts how often scripts of the next page ran. */
function runAhead(): Theme['pages'][number]['routes'] {
  let ran = 0
  return {
    next: scripted(`fetch('ran')`),
    ran: (_request, response) => {
      ran++
      response.end()
    },
    'count.json': (_request, response) =>
      void response.setHeader('content-type', 'application/json').end(JSON.stringify({ n: ran })),
  }
}
