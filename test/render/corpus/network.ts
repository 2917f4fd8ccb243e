import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { type Answer, scripted } from '../../support/renderer.ts'
import { answer, css, inParts, json, never, page, script, status, type Theme } from '../corpus-page.ts'

/** Connections that have had their one answer. */
const spent = new WeakSet<Socket>()

/** Lets anybody ask, and says what it was asked: once on each connection, which breaks when it is used again. */
const shortApi: Answer = async (request, response) => {
  if (spent.has(request.socket)) return void request.socket.resetAndDestroy()
  spent.add(request.socket)
  const allow = { origin: '*', methods: '*', headers: 'x-client' }
  for (const [name, value] of Object.entries(allow)) response.setHeader(`access-control-allow-${name}`, value)
  response.end(`${request.method} ${await text(request)}`)
}

/** Content that comes by requests, one after the other, late, or not at all. */
export const requests: Theme = {
  'requests and timers in turns': {
    document: scripted`const rest = (ms) => new Promise((r) => setTimeout(r, ms)); (async () => {
          for (let n = 0; n < 4; n++) { await rest(900); await (await fetch('part.json?' + n)).json() } show('four rounds') })()`,
    parts: { 'part.json': json({}, 60) },
    expect: { reads: ['four rounds'] },
  },
  'an answer that takes as long as a render may': {
    limit: true,
    document: scripted`show('shell'); fetch('hung.json').then((r) => r.json()).then(({ text }) => show(text))`,
    parts: { 'hung.json': never },
    expect: { reads: ['shell'] },
  },
  'XMLHttpRequest, asynchronous and synchronous': {
    why: 'A synchronous one blocks the page while its clock stands.',
    document: scripted`const now = new XMLHttpRequest(); now.open('GET', 'a.json', false); now.send(); show(JSON.parse(now.responseText).text)
          const later = new XMLHttpRequest(); later.responseType = 'json'; later.open('GET', 'b.json')
          later.onload = () => show(later.response.text); later.send()`,
    parts: { 'a.json': json({ text: 'came at once' }), 'b.json': json({ text: 'came later' }) },
    expect: { reads: ['came at once', 'came later'] },
  },
  'a post with a body': {
    document: scripted`fetch('graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query: '{ harbour }' }) })
          .then((r) => r.json()).then(({ query }) => show('asked ' + query))`,
    parts: { graphql: async (request, response) => void response.end(await text(request)) },
    expect: { reads: ['asked { harbour }'] },
  },
  'a request given up after three seconds': {
    why: "The page's own timeout shows what it has instead; its clock must not stand for ever.",
    document: scripted`fetch('dead', { signal: AbortSignal.timeout(3000) }).catch(() => show('from the cache'))`,
    parts: { dead: never },
    expect: { reads: ['from the cache'] },
  },
  'beacons without an answer': {
    document: scripted`navigator.sendBeacon('seen', 'x'); fetch('seen', { method: 'POST', keepalive: true, body: 'x' }).catch(() => {}); setTimeout(() => show('content'), 1000)`,
    parts: { seen: never },
    expect: { reads: ['content'] },
  },
  'retries with back-off': {
    document: scripted`(async () => { for (let n = 0; n < 4; n++) { const r = await fetch('shaky.json?try=' + n)
          if (r.ok) return show('at try ' + n); await new Promise((done) => setTimeout(done, 300 * 2 ** n)) } })()`,
    parts: { 'shaky.json?try=0': status(503), 'shaky.json?try=1': status(503), 'shaky.json': json({}) },
    expect: { reads: ['at try 2'] },
  },
  'JSONP, and analytics that are not fetched': {
    document: scripted`window.take = ({ text }) => show(text); const load = (src) => Object.assign(document.head.appendChild(document.createElement('script')), { src })
          load('jsonp.js?cb=take'); const s = load('https://www.google-analytics.com/analytics.js'); s.onload = s.onerror = ({ type }) => show('analytics ' + type)`,
    parts: { 'jsonp.js': script(`take({ text: 'by callback' })`, 50) },
    expect: { reads: ['by callback', 'analytics error'], hasNot: ['jsonp.js'] },
  },
  'a style sheet that never comes': {
    why: 'Neither text nor scripts are shown before it: people see a white page too, which is not kept.',
    document: page`<link rel="stylesheet" href="never.css"><p id="out">shell</p><script>out.textContent = 'after the sheet'</script>`,
    parts: { 'never.css': never },
    expect: { outcome: 'blank' },
  },
  'an API of another origin that is asked first': {
    visits: 4,
    document: (request, response) =>
      void response.setHeader('content-type', 'text/html').end(
        scripted`const ask = (path, options) => fetch('http://127.0.0.1:${request.socket.localPort}' + location.pathname + path, { headers: { 'x-client': 'shop' }, ...options }).then((r) => r.text()).then(show, (error) => show(path + ' ' + error))
              ask('read').then(() => ask('write', { method: 'POST', body: 'kettles' }).then(() => ask('remove', { method: 'DELETE' })))`,
      ),
    parts: { read: shortApi, write: shortApi, remove: shortApi },
    expect: { reads: ['GET', 'POST kettles', 'DELETE'] },
  },
  'a frame of another origin': {
    why: 'A payment or video frame: it speaks by messages, and its process must not need a clock of its own.',
    document: (request, response) =>
      void response.setHeader('content-type', 'text/html').end(
        page`<p id="out">waiting</p><script>addEventListener('message', ({ data }) => { out.textContent = data })
              const frame = document.createElement('iframe'); frame.src = 'http://127.0.0.1:${request.socket.localPort}' + location.pathname + 'other'; document.body.append(frame)</script>`,
      ),
    parts: {
      other: `<script>setTimeout(() => parent.postMessage('said from elsewhere', '*'), 1500)</script>`,
    },
    expect: { reads: ['said from elsewhere'] },
  },
  'a frame within which all comes late': {
    document: page`<p id="out">waiting</p><iframe src="inner"></iframe><script>addEventListener('message', ({ data }) => { out.textContent = data })</script>`,
    parts: {
      inner: `<script>fetch('frame.json').then((r) => r.json()).then(({ text }) => parent.postMessage(text, '*'))</script>`,
      'frame.json': json({ text: 'said by the frame' }, 200),
    },
    expect: { reads: ['said by the frame'], has: ['<iframe src="inner">'] },
  },
}

/** Connections that stay open, documents that come slowly, and workers, which live in real time. */
export const streams: Theme = {
  'an event stream that never stops speaking': {
    document: scripted`let n = 0; new EventSource('events').onmessage = ({ data }) => { if (++n <= 3) show(data) }`,
    parts: {
      events: inParts(
        Array.from({ length: 400 }, (_, n) => `data: price ${n}\n\n`),
        50,
        'open',
        'text/event-stream',
      ),
    },
    expect: { reads: ['price 0', 'price 2'] },
  },
  'a WebSocket whose word is shown after two seconds': {
    why: 'By the real clock it comes when all the time of the page has long been spent.',
    document: scripted`const socket = new WebSocket('wss://' + location.host + location.pathname + 'live')
          socket.onmessage = ({ data }) => setTimeout(() => show(data), 2000)`,
    sockets: { live: (heard, say) => void (heard ?? setTimeout(() => say('shown at last'), 80)) },
    expect: { reads: ['shown at last'] },
  },
  'a WebSocket that is refused': {
    document: scripted`new WebSocket('wss://' + location.host + location.pathname + 'nobody').onerror = () => show('no live prices')`,
    expect: { reads: ['no live prices'] },
  },
  'a document that never ends': {
    document: inParts(['<!DOCTYPE html><title>t</title>', '<p>welcome</p>'], 50, 'open'),
    expect: { reads: ['welcome'] },
  },
  'a document that comes for seven seconds': {
    why: 'A slow server computes one part after the other; each pause is short, and half of it reads like a whole page.',
    document: inParts(
      ['<!DOCTYPE html><title>t</title>', '<p>one</p>', '<p>two</p>', '<p>three</p>', '<p>last</p>'],
      1_700,
    ),
    expect: { reads: ['one two three last'] },
  },
  'a worker that counts by an interval for three seconds': {
    why: "Its clock is the page's, but after a jump of it a worker sleeps on.",
    document: scripted`new Worker('worker.js').onmessage = ({ data }) => show(data)`,
    parts: {
      'worker.js': script`let n = 0; const timer = setInterval(() => { if (++n === 10) { clearInterval(timer); postMessage('count ' + n) } }, 300)`,
    },
    expect: { reads: ['count 10'] },
  },
  'a worker of modules that fetches': {
    document: scripted`new Worker('worker.js', { type: 'module' }).onmessage = ({ data }) => show(data)`,
    parts: {
      'worker.js': script(
        `import { text } from './part.js'; postMessage(text + (await (await fetch('more.js')).text()))`,
        40,
      ),
      'part.js': script(`export const text = 'by module, '`, 40),
      'more.js': script('by request', 80),
    },
    expect: { reads: ['by module, by request'] },
  },
  'a worker that is busy for two and a half seconds': {
    why: 'It says nothing until it is done, and by its silence alone it is done at once; then the page takes its time.',
    document: scripted`const worker = new Worker(URL.createObjectURL(new Blob(['const { buffer } = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }); Atomics.wait(new Int32Array(buffer), 0, 0, 2500); postMessage("computed")'])))
          worker.onmessage = ({ data }) => setTimeout(() => show(data), 2000)`,
    expect: { reads: ['computed'] },
  },
  'a worker that computes for ever': {
    limit: true,
    document: scripted`show('without it'); new Worker(URL.createObjectURL(new Blob(['for (;;);'])))`,
    expect: { reads: ['without it'] },
  },
  'a shared worker whose script is slow, and that asks a slow server': {
    why: 'Neither its script nor its requests are those of the page, nor does anything tell the page of them.',
    document: scripted`new SharedWorker('shared.js#1', { type: 'module' }).port.onmessage = ({ data }) => setTimeout(() => show(data), 2000)`,
    parts: {
      'shared.js': script(
        `import { word } from './word.js'; onconnect = async ({ ports: [port] }) => port.postMessage(word + (await (await fetch('rest.js')).text()))`,
        1_100,
      ),
      'word.js': script(`export const word = 'shared at '`, 40),
      'rest.js': script('length', 1_100),
    },
    expect: { reads: ['shared at length'] },
  },
  'a shared worker that is asked by two frames, and again after each answer': {
    document: scripted`const { port } = new SharedWorker('shared.js'); let n = 0
          port.onmessage = () => ++n < 5 ? port.postMessage('') : show('answer ' + n); port.postMessage('')
          const frame = document.createElement('iframe'); frame.src = 'inner'; document.body.append(frame)`,
    parts: {
      inner: `<script>const { port } = new SharedWorker('shared.js'); port.onmessage = () => parent.show('inner answer'); port.postMessage('')</script>`,
      'shared.js': script`onconnect = ({ ports: [port] }) => { port.onmessage = () => setTimeout(() => port.postMessage(''), 90) }`,
    },
    expect: { reads: ['answer 5', 'inner answer'] },
  },
  'a worker whose script comes after two seconds': {
    why: 'It is a script like those of the page, without which there is no content; but its end is not reported.',
    document: scripted`new Worker('worker.js').onmessage = ({ data }) => setTimeout(() => show(data), 2000)`,
    parts: {
      'worker.js': (_request, response) => void response.writeHead(302, { location: 'moved.js' }).end(),
      'moved.js': script(`setTimeout(() => postMessage('late but here'), 500)`, 2_000),
    },
    expect: { reads: ['late but here'] },
  },
  'workers that fail, are ended, or are not allowed': {
    document: scripted`const csp = document.createElement('iframe'); csp.src = 'strict'; document.body.append(csp)
          new Worker('slow.js').terminate(); new Worker('none.js').onerror = () => show('no worker')
          new SharedWorker('none.js', 'x')`,
    parts: {
      'slow.js': never,
      'none.js': status(404),
      strict: `<meta http-equiv="Content-Security-Policy" content="worker-src 'none'"><script>new Worker('slow.js').onerror = () => parent.show('not allowed')</script>`,
    },
    expect: { reads: ['no worker', 'not allowed'] },
  },
  'a stream that is refused': {
    document: scripted`show('page'); new EventSource('none').onerror = () => {}; setTimeout(() => show('later'), 4000)`,
    parts: { none: status(500) },
    expect: { reads: ['page', 'later'] },
  },
}

const module = (text: TemplateStringsArray) => page`<ul id="out"></ul><script type="module">${text}</script>`

/** Scripts that come in parts. */
export const modules: Theme = {
  'a graph of modules seven deep': {
    document: module`import { depth } from './level.js?n=1'; out.append('depth ' + depth)`,
    parts: {
      ...Object.fromEntries(
        Array.from({ length: 7 }, (_, at) => [
          `level.js?n=${at + 1}`,
          script(at === 6 ? 'export const depth = 7' : `export { depth } from './level.js?n=${at + 2}'`, 25),
        ]),
      ),
    },
    expect: { reads: ['depth 7'] },
  },
  'await at the top of a module': {
    document: module`const data = await (await fetch('data.json')).json(); await new Promise((done) => setTimeout(done, 800)); out.append(data.text)`,
    parts: { 'data.json': json({ text: 'awaited at the top' }, 100) },
    expect: { reads: ['awaited at the top'] },
  },
  'modules of JSON and CSS, and one that is missing': {
    document: module`import data from './data.json' with { type: 'json' }; import sheet from './own.css' with { type: 'css' }
          document.adoptedStyleSheets = [sheet]; out.append(data.text); import('./gone.js').catch(() => out.append(', please reload'))`,
    parts: { 'data.json': json({ text: 'typed import' }), 'own.css': css('.own { color: teal }') },
    expect: { reads: ['typed import, please reload'], has: [/<style>\.own { color: teal; }<\/style>/] },
  },
  'WebAssembly compiled as it comes': {
    document: scripted`WebAssembly.instantiateStreaming(fetch('add.wasm')).then(({ instance }) => show('sum ' + instance.exports.add(40, 2)))`,
    parts: {
      'add.wasm': answer(
        Buffer.from(
          '0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b',
          'hex',
        ),
        { 'content-type': 'application/wasm' },
      ),
    },
    expect: { reads: ['sum 42'] },
  },
}
