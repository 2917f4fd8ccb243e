import { scripted } from '../../support/renderer.ts'
import { answer, inParts, json, page, script, type Theme } from '../corpus-page.ts'
import { probePage } from '../platform/probe.ts'
import { reactClient, streamedByReact } from '../react-page.ts'

const LIST = `<ul id="out"></ul><script>function show(text) { const li = document.createElement('li'); li.textContent = text; out.append(li) }</script>`

/** How frameworks of today bring their content: React itself, and the ways of others rebuilt in a few lines. */
export const frameworks: Theme = {
  'React streams what was suspended': {
    document: streamedByReact,
    expect: { reads: ['the shop', 'two rows of shoes', 'a review'], readsNot: ['loading'] },
  },
  'React replaces what the server sent': {
    document: page`<div id="root"><main><h1>sent by the server</h1><p>old</p></main></div><script src="app.js"></script>`,
    parts: {
      'app.js':
        reactClient(`function Shop() { const [items, set] = useState([]); useEffect(() => { fetch('items.json').then((r) => r.json()).then(set) }, [])
            return h('main', null, h('h1', null, 'rendered by the client'), items.map((item) => h('p', { key: item }, item))) }
          hydrateRoot(document.querySelector('#root'), h(Shop), { onRecoverableError() {} })`),
      'items.json': json(['shoes', 'hats'], 60),
    },
    expect: { reads: ['rendered by the client', 'shoes', 'hats'], readsNot: ['sent by the server', 'old'] },
  },
  'React waits within transitions': {
    document: page('<div id="root"></div><script src="app.js"></script>'),
    parts: {
      'app.js':
        reactClient(`const data = (name) => fetch(name).then((r) => r.json()); const first = data('first.json'), second = data('second.json')
          const Part = ({ of }) => h('p', null, use(of).text); const Late = lazy(() => new Promise((done) => setTimeout(() => done({ default: () => h('p', null, 'late part') }), 800)))
          function App() { const [tab, set] = useState('one'), [isPending, start] = useTransition(), deferred = useDeferredValue(tab); useEffect(() => start(async () => { await data('third.json'); start(() => set('two')) }), [])
            return h('main', null, h('h1', null, 'tab ' + deferred + (isPending ? ' pending' : '')), h(Suspense, { fallback: 'loading' }, h(Part, { of: first }), h(Suspense, { fallback: 'loading more' }, h(Part, { of: second }), h(Late)))) }
          createRoot(document.querySelector('#root')).render(h(App))`),
      'first.json': json({ text: 'first part' }, 50),
      'second.json': json({ text: 'second part' }, 400),
      'third.json': json({}, 200),
    },
    expect: {
      reads: ['tab two', 'first part', 'second part', 'late part'],
      readsNot: ['loading', 'pending'],
    },
  },
  'changes told by whichever comes first, frame or timer': {
    why: 'Applications without zones race the two, and cancel the loser.',
    document: scripted`function schedule(run) { let isDone = false; const once = () => { if (isDone) return; isDone = true; clearTimeout(timer); cancelAnimationFrame(frame); run() }; const timer = setTimeout(once), frame = requestAnimationFrame(() => setTimeout(once)) }
          let n = 0; function tick() { show('round ' + ++n); if (n < 12) fetch('data.json?' + n).then(() => schedule(tick)) } schedule(tick)`,
    parts: { 'data.json': json({}, 5) },
    expect: { reads: ['round 1', 'round 12'] },
  },
  'a page that wakes up where it is looked at': {
    document: page`${LIST}<div on:qvisible="seen.js#start" style="margin-top:9000px">row</div><script>
            const observer = new IntersectionObserver((entries) => { for (const { isIntersecting, target } of entries) if (isIntersecting) { observer.unobserve(target); target.dispatchEvent(new CustomEvent('qvisible')) } })
            document.addEventListener('qvisible', async ({ target }) => { const [file, name] = target.getAttribute('on:qvisible').split('#'); (await import('./' + file))[name](target) }, true)
            for (const element of document.querySelectorAll('[on\\\\:qvisible]')) observer.observe(element)</script>`,
    parts: {
      'seen.js': script(
        `export async function start(element) { const { price } = await (await fetch('data.json')).json(); element.textContent = 'price ' + price }`,
        60,
      ),
      'data.json': json({ price: 42 }),
    },
    expect: { reads: ['price 42'] },
  },
  'islands that wait for their moment': {
    document: page`<x-island client="idle"></x-island><x-island client="visible" style="display:contents"><p style="margin-top:9000px">empty</p></x-island><x-island client="media"></x-island><x-island client="only"></x-island><script>
            customElements.define('x-island', class extends HTMLElement { connectedCallback() { const how = this.getAttribute('client'); const fill = async () => { const { name } = await import('./island.js?' + how); this.innerHTML = '<p>island ' + name(how) + '</p>'; this.dispatchEvent(new CustomEvent('hydrate', { bubbles: true })) }
              if (how === 'idle') requestIdleCallback(fill, { timeout: 5000 }); else if (how === 'only') addEventListener('load', fill); else if (how === 'media') { const wide = matchMedia('(min-width: 900px)'); wide.matches ? fill() : wide.addEventListener('change', fill) }
              else { const seen = new IntersectionObserver(([{ isIntersecting }]) => { if (!isIntersecting) return; seen.disconnect(); fill() }); setTimeout(() => { for (const child of this.children) seen.observe(child) }) } } })</script>`,
    parts: { 'island.js': script(`export const name = (how) => how + ' is here'`, 60) },
    expect: {
      reads: ['island idle is here', 'island visible is here', 'island media is here', 'island only is here'],
      readsNot: ['empty'],
    },
  },
  'fragments fetched by attributes': {
    document: page`<div x-get="first" x-on="load"></div><div style="margin-top:9000px" x-get="second" x-on="seen"></div><div x-get="poll" x-on="every"></div><script>
            function wire(root) { for (const element of root.querySelectorAll('[x-get]')) { const on = element.getAttribute('x-on'); const get = async () => { const text = await (await fetch(element.getAttribute('x-get'), { headers: { 'x-request': 'true' } })).text(); element.classList.add('swapping'); await new Promise((done) => setTimeout(done, 20)); element.innerHTML = text; element.classList.remove('swapping'); wire(element) }
              if (on === 'load') get(); else if (on === 'every') setInterval(get, 2000); else new IntersectionObserver(([{ isIntersecting }], self) => { if (isIntersecting) { self.disconnect(); get() } }).observe(element) } } wire(document)</script>`,
    parts: {
      first: '<p>first fragment</p><div x-get="third" x-on="load"></div>',
      second: '<p>second fragment</p>',
      third: '<p>third fragment</p>',
      poll: '<p>polled</p>',
    },
    expect: {
      reads: ['first fragment', 'second fragment', 'third fragment', 'polled'],
      hasNot: ['swapping'],
    },
  },
  'directives that are read when they appear': {
    document: page(
      `<section x-data x-cloak><template x-for="data.json"><p></p></template><b x-text="total"></b></section><script type="module">
            const walk = async (root) => { for (const template of root.querySelectorAll('template[x-for]')) { const rows = await (await fetch(template.getAttribute('x-for'))).json(); for (const row of rows) { const copy = template.content.cloneNode(true); copy.querySelector('p').textContent = row; template.before(copy) } root.querySelector('[x-text]').textContent = rows.length + ' in all' } queueMicrotask(() => root.removeAttribute('x-cloak')) }
            new MutationObserver((records) => { for (const { addedNodes } of records) for (const node of addedNodes) if (node.matches?.('[x-data]')) walk(node) }).observe(document.body, { childList: true, subtree: true })
            walk(document.querySelector('[x-data]')); setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<section x-data x-cloak><template x-for="data.json?2"><p></p></template><b x-text></b></section>'), 300)</script>`,
      '<style>[x-cloak] { display: none }</style>',
    ),
    parts: { 'data.json': json(['shoes', 'hats']) },
    expect: { reads: ['shoes', 'hats', '2 in all'], hasNot: [/<section[^>]*x-cloak/] },
  },
  'what was stored first, what is new afterwards': {
    document: scripted`(async () => { const open = indexedDB.open('feed', 1); open.onupgradeneeded = () => open.result.createObjectStore('posts', { keyPath: 'id' }); const db = await new Promise((done) => { open.onsuccess = () => done(open.result) })
            const read = () => new Promise((done) => { db.transaction('posts').objectStore('posts').getAll().onsuccess = ({ target }) => done(target.result) })
            const paint = async () => { out.textContent = ''; for (const { text } of await read()) show(text); if (out.children.length === 0) show('nothing yet') }; await paint()
            const worker = await Promise.race([navigator.serviceWorker.ready, new Promise((done) => setTimeout(done, 1000))]); const posts = await (await fetch('posts.json')).json()
            const write = db.transaction('posts', 'readwrite'); for (const post of posts) write.objectStore('posts').put(post); write.oncomplete = () => { new BroadcastChannel('feed').postMessage('new'); paint() } })()`,
    parts: {
      'posts.json': json([
        { id: 1, text: 'first post' },
        { id: 2, text: 'second post' },
      ]),
    },
    expect: { reads: ['first post', 'second post'], readsNot: ['nothing yet'] },
  },
  'lines of JSON that come one by one': {
    document: scripted`(async () => { let rest = ''; for await (const text of (await fetch('lines')).body.pipeThrough(new TextDecoderStream())) { const lines = (rest + text).split('\\n'); rest = lines.pop(); for (const line of lines) { await new Promise(requestAnimationFrame); show(JSON.parse(line).text) } } show('all read') })()`,
    parts: {
      lines: inParts(
        ['{"text":"line 1"}\n{"te', 'xt":"line 2"}\n', '{"text":"line 3"}\n'],
        250,
        'end',
        'application/x-ndjson',
      ),
    },
    expect: { reads: ['line 1', 'line 2', 'line 3', 'all read'] },
  },
  'a subscription that brings the content': {
    document: scripted`if ('WebTransport' in window) show('wrong'); const socket = new WebSocket('socket'); socket.onopen = () => socket.send('init')
          socket.onmessage = ({ data }) => { if (data === 'ack') { socket.send('subscribe'); setInterval(() => socket.readyState === 1 && socket.send('ping'), 1000) } else if (data !== 'pong') show(data) }`,
    sockets: {
      socket: (heard, say) => {
        if (heard === 'init') setTimeout(() => say('ack'), 200)
        if (heard === 'subscribe') setTimeout(() => say('the content'), 300)
        if (heard === 'ping') say('pong')
      },
    },
    expect: { reads: ['the content'], readsNot: ['wrong'] },
  },
  'work in hundreds of idle moments': {
    document: scripted`const work = Array.from({ length: 2000 }, (_, n) => n); let slices = 0; requestIdleCallback(function go(deadline) { slices++; for (let n = 0; n < 10 && work.length > 0 && deadline.timeRemaining() > 0; n++) work.pop()
            if (work.length > 0) requestIdleCallback(go, { timeout: 100 }); else scheduler.postTask(async () => { await scheduler.yield(); show(slices + ' slices, none left') }, { priority: 'background', delay: 500 }) })`,
    expect: { reads: ['200 slices, none left'] },
  },
  'scripts that write scripts that write': {
    document: page`<p>before</p><script>document.write('<script src="one.js"><\\/script>')</script><p>after</p>`,
    parts: {
      'one.js': script(`document.write('<p>one</p><script src="two.js"><\\/script>')`, 60),
      'two.js': script(`document.write('<p>two</p>')`, 60),
    },
    expect: { reads: ['before', 'one', 'two', 'after'] },
  },
}

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
  'what the browser answers, feature by feature': {
    why: 'docs/platform.md has all answers, and platform.test.ts compares them.',
    document: probePage(),
    expect: {
      reads: ['What this browser answers', 'navigator.webdriver false', 'geolocation prompt'],
      has: ['<title>answered</title>'],
    },
  },
  'what is asked of a person and never answered': {
    document: scripted`show('shown at once'); setTimeout(() => show('and later'), 2000); new AudioContext().resume().then(() => show('wrong'))
          navigator.credentials?.get?.({ mediation: 'conditional', publicKey: { challenge: new Uint8Array(16) } }).catch(() => {})`,
    expect: { reads: ['shown at once', 'and later'], readsNot: ['wrong'] },
  },
  'shadow roots declared in parts of a stream': {
    document: inParts(
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
    document: answer(
      scripted`show('isolated ' + crossOriginIsolated); const shared = new Int32Array(new SharedArrayBuffer(4)); const worker = new Worker('worker.js'); worker.postMessage(shared)
            Atomics.waitAsync(shared, 0, 0).value.then?.((how) => show('woken: ' + how + ' ' + shared[0]))`,
      { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' },
    ),
    parts: {
      'worker.js': answer(
        `onmessage = ({ data }) => { Atomics.store(data, 0, 7); Atomics.notify(data, 0) }`,
        { 'content-type': 'text/javascript', 'cross-origin-embedder-policy': 'require-corp' },
      ),
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
        'de Dienstag ja 火曜日 ar الثلاثاء hi मंगलवार 1.234,50',
        'un et deux Alemania 2 words 2026-04-03 same day true',
      ],
    },
  },
}

/** What a page may keep, which must be gone at the next render, and what it may ask of its browser. */
export const state: Theme = {
  'a secure context': {
    document: scripted`show('secure ' + isSecureContext + ' ' + location.protocol); show('uuid ' + crypto.randomUUID().length); crypto.subtle.digest('SHA-256', new Uint8Array()).then((hash) => show('hash ' + hash.byteLength))`,
    expect: { reads: ['secure true https:', 'uuid 36', 'hash 32'] },
  },
  'things that need leave': {
    document: scripted`navigator.geolocation.getCurrentPosition(() => show('position'), (error) => show('no position ' + error.code))
          Notification.requestPermission().then((answer) => show('notices ' + answer)); navigator.permissions.query({ name: 'geolocation' }).then(({ state }) => show('geolocation ' + state))
          navigator.mediaDevices.getUserMedia({ video: true }).catch(() => show('no camera')); navigator.clipboard.readText().catch(() => show('no clipboard'))`,
    expect: {
      reads: ['no position 1', 'notices default', 'geolocation prompt', 'no camera', 'no clipboard'],
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
}

/** Scripts that fail, hang, flood, or change what a renderer relies on. */
export const trouble: Theme = {
  'half a second of work': {
    document: scripted`setTimeout(() => { let sum = 0; for (let n = 0; n < 2e8; n++) sum += n % 7; show('sum ' + (sum > 0)) }, 100)`,
    expect: { reads: ['sum true'] },
  },
  'twenty thousand elements': {
    document: scripted`for (let n = 0; n < 20000; n++) show('row ' + n)`,
    expect: { reads: ['row 0', 'row 19999'] },
  },
  'dialogs, and a page that closes itself': {
    document: scripted`alert('hello'); show('confirm ' + confirm('sure?')); show('prompt ' + prompt('name?')); print(); show('after')
          window.close(); setTimeout(() => show('still open'), 500)`,
    expect: { reads: ['confirm false', 'prompt null', 'after', 'still open'] },
  },
  'a page that does not want to be left': {
    visits: 2,
    document: scripted`addEventListener('beforeunload', (event) => { event.preventDefault(); event.returnValue = 'stay' }); addEventListener('unload', () => localStorage.setItem('was', 'here')); show('was ' + localStorage.getItem('was'))`,
    expect: { reads: ['was null'] },
  },
  'document.write, while parsing and after': {
    document: page`<script>document.write('<p>written in time</p>')</script><script>setTimeout(() => { document.open(); document.write('<!DOCTYPE html><title>new</title><p>a new document</p><script>setTimeout(() => document.body.append("and its timer"), 900)<\\/script>'); document.close() }, 300)</script>`,
    expect: { reads: ['a new document', 'and its timer'], readsNot: ['written in time'] },
  },
  'document.open without a close': {
    document: page`<script>setTimeout(() => { document.open(); document.write('<!DOCTYPE html><p>left open</p>') }, 300)</script>`,
    expect: { reads: ['left open'] },
  },
  'timers that are replaced': {
    why: 'Zones and test clocks wrap setTimeout and requestAnimationFrame; what we need was taken before.',
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
