import { scripted } from '../../support/renderer.ts'
import { css, inParts, json, never, page, script, status, type Theme } from '../corpus-page.ts'

const module = (text: TemplateStringsArray) => page`<ul id="out"></ul><script type="module">${text}</script>`

/** Content that comes by requests, in parts, by streams and workers, late or not at all. */
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
  'a request given up after three seconds': {
    document: scripted`fetch('dead', { signal: AbortSignal.timeout(3000) }).catch(() => show('from the cache'))`,
    parts: { dead: never },
    expect: { reads: ['from the cache'] },
  },
  'beacons without an answer': {
    document: scripted`navigator.sendBeacon('seen', 'x'); fetch('seen', { method: 'POST', keepalive: true, body: 'x' }).catch(() => {}); setTimeout(() => show('content'), 1000)`,
    parts: { seen: never },
    expect: { reads: ['content'] },
  },
  'a style sheet that never comes': {
    document: page`<link rel="stylesheet" href="never.css"><p id="out">shell</p><script>out.textContent = 'after the sheet'</script>`,
    parts: { 'never.css': never },
    expect: { outcome: 'blank' },
  },
  'a frame of another origin': {
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
  'modules of JSON and CSS': {
    document: module`import data from './data.json' with { type: 'json' }; import sheet from './own.css' with { type: 'css' }
          document.adoptedStyleSheets = [sheet]; out.append(data.text)`,
    parts: { 'data.json': json({ text: 'typed import' }), 'own.css': css('.own { color: teal }') },
    expect: { reads: ['typed import'], has: [/<style>\.own { color: teal; }<\/style>/] },
  },
  'WebAssembly compiled as it comes': {
    document: scripted`WebAssembly.instantiateStreaming(fetch('add.wasm')).then(({ instance }) => show('sum ' + instance.exports.add(40, 2)))`,
    parts: {
      'add.wasm': (_request, response) =>
        void response
          .setHeader('content-type', 'application/wasm')
          .end(
            Buffer.from(
              '0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b',
              'hex',
            ),
          ),
    },
    expect: { reads: ['sum 42'] },
  },
  'an event stream that never stops speaking': {
    document: scripted`let n = 0; new EventSource('events').onmessage = ({ data }) => { if (++n <= 3) show(data) }`,
    parts: {
      events: inParts(
        'text/event-stream',
        Array.from({ length: 400 }, (_, n) => `data: price ${n}\n\n`),
        50,
        'open',
      ),
    },
    expect: { reads: ['price 0', 'price 2'] },
  },
  'a WebSocket whose word is shown after two seconds': {
    document: scripted`const socket = new WebSocket('wss://' + location.host + location.pathname + 'live')
          socket.onmessage = ({ data }) => setTimeout(() => show(data), 2000)`,
    sockets: { live: (heard, say) => void (heard ?? setTimeout(() => say('shown at last'), 80)) },
    expect: { reads: ['shown at last'] },
  },
  'a document that comes for seven seconds': {
    document: inParts(
      'text/html; charset=utf-8',
      [
        '<!DOCTYPE html><title>t</title><p>one</p>',
        '<p>two</p>',
        '<p>three</p>',
        '<p>four</p>',
        '<p>last</p>',
      ],
      1_700,
    ),
    expect: { reads: ['one two three four last'] },
  },
  'a document that breaks off': {
    document: inParts(
      'text/html; charset=utf-8',
      ['<!DOCTYPE html><title>t</title><p>first half</p>'],
      50,
      'break',
    ),
    expect: { outcome: 'origin-unreachable' },
  },
  'a worker that counts by an interval for three seconds': {
    document: scripted`new Worker('worker.js').onmessage = ({ data }) => show(data)`,
    parts: {
      'worker.js': script`let n = 0; const timer = setInterval(() => { if (++n === 10) { clearInterval(timer); postMessage('count ' + n) } }, 300)`,
    },
    expect: { reads: ['count 10'] },
  },
  'a worker that is busy for two and a half seconds': {
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
}
