import { scripted } from '../../support/renderer.ts'
import { inParts, json, page, script, type Theme } from '../corpus-page.ts'
import { reactClient, streamedByReact } from '../react-page.ts'

const LIST = `<ul id="out"></ul><script>function show(text) { const li = document.createElement('li'); li.textContent = text; out.append(li) }</script>`

/** How frameworks of today bring their content: React itself, and the ways of others rebuilt in a few lines. */
export const frameworks: Theme = {
  'React streams what was suspended': {
    why: 'Parts come hidden, out of their order, and scripts of the stream put them in place with a frame and a throttle.',
    document: streamedByReact,
    expect: { reads: ['the shop', 'two rows of shoes', 'a review'], readsNot: ['loading'] },
  },
  'React replaces what the server sent': {
    why: 'Hydration finds other words than its own, throws them away and renders again.',
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
    why: 'What is suspended is shown after a throttle; what is deferred is rendered in idle time.',
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
    why: 'No script runs at the start: handlers are fetched when their element is seen.',
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
    why: 'Idle, seen, of a width, only here: each is fetched and filled at a time of its own.',
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
    why: 'A library without a build swaps in HTML on load, when it is seen and every few seconds; the swapped in has attributes, too.',
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
    why: 'A cloak hides all until an observer of changes has walked the tree, one microtask after the other.',
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
    why: 'A page shows its data base at once, which is empty, and then what it fetches and stores.',
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
    why: 'Each line is shown as it comes; the pauses between them are the server’s.',
    document: scripted`(async () => { let rest = ''; for await (const text of (await fetch('lines')).body.pipeThrough(new TextDecoderStream())) { const lines = (rest + text).split('\\n'); rest = lines.pop(); for (const line of lines) { await new Promise(requestAnimationFrame); show(JSON.parse(line).text) } } show('all read') })()`,
    parts: {
      lines: inParts(
        'application/x-ndjson',
        ['{"text":"line 1"}\n{"te', 'xt":"line 2"}\n', '{"text":"line 3"}\n'],
        250,
      ),
    },
    expect: { reads: ['line 1', 'line 2', 'line 3', 'all read'] },
  },
  'a subscription that brings the content': {
    why: 'Three words each way, with a pause of the server before each, and no request beside them.',
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
    why: 'Each asks whether there is time left, and leaves the rest for the next.',
    document: scripted`const work = Array.from({ length: 2000 }, (_, n) => n); let slices = 0; requestIdleCallback(function go(deadline) { slices++; for (let n = 0; n < 10 && work.length > 0 && deadline.timeRemaining() > 0; n++) work.pop()
            if (work.length > 0) requestIdleCallback(go, { timeout: 100 }); else scheduler.postTask(async () => { await scheduler.yield(); show(slices + ' slices, none left') }, { priority: 'background', delay: 500 }) })`,
    expect: { reads: ['200 slices, none left'] },
  },
  'scripts that write scripts that write': {
    why: 'Each stops the parser, is fetched, and writes the next.',
    document: page`<p>before</p><script>document.write('<script src="one.js"><\\/script>')</script><p>after</p>`,
    parts: {
      'one.js': script(`document.write('<p>one</p><script src="two.js"><\\/script>')`, 60),
      'two.js': script(`document.write('<p>two</p>')`, 60),
    },
    expect: { reads: ['before', 'one', 'two', 'after'] },
  },
}
