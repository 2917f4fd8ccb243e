import { scripted } from '../../support/renderer.ts'
import { inParts, json, never, page, script, status, type Theme } from '../corpus-page.ts'

/** Connections that stay open, documents that come slowly, and workers, which live in real time. */
export const streams: Theme = {
  name: 'streams',
  pages: [
    {
      name: 'an event stream',
      why: 'It never ends, and what it says at first is content.',
      routes: {
        '': scripted(`new EventSource('events').onmessage = ({ data }) => show(data)`),
        events: inParts('text/event-stream', [': hello\n\n', 'data: first event\n\n'], 80, 'open'),
      },
      expect: { reads: ['first event'] },
    },
    {
      name: 'an event stream that never stops speaking',
      why: 'Each event looks like progress.',
      routes: {
        '': scripted(
          `let n = 0; new EventSource('events').onmessage = ({ data }) => { if (++n <= 3) show(data) }`,
        ),
        events: inParts(
          'text/event-stream',
          Array.from({ length: 400 }, (_, n) => `data: price ${n}\n\n`),
          50,
          'open',
        ),
      },
      expect: { reads: ['price 0', 'price 2'] },
    },
    {
      name: 'a WebSocket that is asked',
      why: 'Question and answer over a socket are no requests to a renderer that counts requests.',
      routes: {
        '': scripted(`const socket = new WebSocket('wss://' + location.host + location.pathname + 'live')
          socket.onopen = () => socket.send('tide'); socket.onmessage = ({ data }) => show(data)`),
      },
      sockets: {
        live: (heard, say) => {
          if (heard !== null) setTimeout(() => say(`${heard}: high at noon`), 80)
        },
      },
      expect: { reads: ['tide: high at noon'] },
    },
    {
      name: 'a WebSocket whose word is shown after two seconds',
      why: 'By the real clock it comes when all the time of the page has long been spent.',
      routes: {
        '': scripted(`const socket = new WebSocket('wss://' + location.host + location.pathname + 'live')
          socket.onmessage = ({ data }) => setTimeout(() => show(data), 2000)`),
      },
      sockets: { live: (heard, say) => void (heard ?? setTimeout(() => say('shown at last'), 80)) },
      expect: { reads: ['shown at last'] },
    },
    {
      name: 'a WebSocket that is refused',
      why: 'The page goes on without it.',
      routes: {
        '': scripted(
          `new WebSocket('wss://' + location.host + location.pathname + 'nobody').onerror = () => show('no live prices')`,
        ),
      },
      expect: { reads: ['no live prices'] },
    },
    {
      name: 'a document that comes in parts',
      why: 'Streamed by the server over more than a second; each part is text already.',
      routes: {
        '': inParts(
          'text/html; charset=utf-8',
          ['<!DOCTYPE html><title>t</title><p>one</p>', '<p>two</p>', '<p>three</p>', '<p>four</p>'],
          350,
        ),
      },
      expect: { reads: ['one two three four'] },
    },
    {
      name: 'a document streamed out of order',
      why: 'Fallbacks first, their content later in a hidden part that a script moves, as React does.',
      routes: {
        '': inParts(
          'text/html; charset=utf-8',
          [
            `<!DOCTYPE html><title>t</title><div id="B:0"><template></template>loading</div>`,
            `<div hidden id="S:0"><p>the late part</p></div><script>const to = document.getElementById('B:0'), from = document.getElementById('S:0'); to.replaceChildren(...from.childNodes); from.remove()</script>`,
          ],
          600,
        ),
      },
      expect: { reads: ['the late part'], readsNot: ['loading'] },
    },
    {
      name: 'a document that never ends',
      why: 'Old chats keep the document itself open.',
      routes: {
        '': inParts(
          'text/html; charset=utf-8',
          ['<!DOCTYPE html><title>t</title>', '<p>welcome</p>'],
          50,
          'open',
        ),
      },
      expect: { reads: ['welcome'] },
    },
    {
      name: 'a document that comes for seven seconds',
      why: 'A slow server computes one part after the other; each pause is short, and half of it reads like a whole page.',
      routes: {
        '': inParts(
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
      },
      expect: { reads: ['one two three four last'] },
    },
    {
      name: 'a document that breaks off',
      why: 'Half a document reads like a whole one, and must never be kept.',
      routes: {
        '': inParts(
          'text/html; charset=utf-8',
          ['<!DOCTYPE html><title>t</title><p>first half</p>'],
          50,
          'break',
        ),
      },
      expect: { outcome: 'origin-unreachable' },
    },
    {
      name: 'a worker with a timer',
      why: 'Its timers run by the real clock, the page in jumps.',
      routes: {
        '': scripted(
          `const worker = new Worker('worker.js'); worker.onmessage = ({ data }) => show(data); worker.postMessage(20)`,
        ),
        'worker.js': script(
          `onmessage = ({ data }) => setTimeout(() => postMessage('sum ' + (data + 22)), 150)`,
        ),
      },
      expect: { reads: ['sum 42'] },
    },
    {
      name: 'a worker that counts by an interval for three seconds',
      why: "Its clock is the page's, but after a jump of it a worker sleeps on.",
      routes: {
        '': scripted(`new Worker('worker.js').onmessage = ({ data }) => show(data)`),
        'worker.js': script(
          `let n = 0; const timer = setInterval(() => { if (++n === 10) { clearInterval(timer); postMessage('count ' + n) } }, 300)`,
        ),
      },
      expect: { reads: ['count 10'] },
    },
    {
      name: 'a worker of modules that fetches',
      why: 'Its imports and requests are not those of the page.',
      routes: {
        '': scripted(`new Worker('worker.js', { type: 'module' }).onmessage = ({ data }) => show(data)`),
        'worker.js': script(
          `import { text } from './part.js'; postMessage(text + (await (await fetch('more.js')).text()))`,
          40,
        ),
        'part.js': script(`export const text = 'by module, '`, 40),
        'more.js': script('by request', 80),
      },
      expect: { reads: ['by module, by request'] },
    },
    {
      name: 'a worker from a blob that computes',
      why: 'There is no request at all, only half a second of work.',
      routes: {
        '': scripted(`const text = "const end = performance.now() + 500; while (performance.now() < end); postMessage('computed')"
          new Worker(URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))).onmessage = ({ data }) => show(data)`),
      },
      expect: { reads: ['computed'] },
    },
    {
      name: 'a worker that is busy for two and a half seconds',
      why: 'It says nothing until it is done, and by its silence alone it is done at once; then the page takes its time.',
      routes: {
        '': scripted(`const worker = new Worker(URL.createObjectURL(new Blob(['const { buffer } = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }); Atomics.wait(new Int32Array(buffer), 0, 0, 2500); postMessage("computed")'])))
          worker.onmessage = ({ data }) => setTimeout(() => show(data), 2000)`),
      },
      expect: { reads: ['computed'] },
    },
    {
      name: 'a worker that asks a slow server twice',
      why: 'Its requests are not those of the page, and there is only silence meanwhile.',
      routes: {
        '': scripted(`new Worker('worker.js').onmessage = ({ data }) => show(data)`),
        'worker.js': script(
          `fetch('slow.json').then(() => fetch('slow.json')).then((r) => r.json()).then(({ text }) => postMessage(text))`,
        ),
        'slow.json': json({ text: 'found by the worker' }, 1_600),
      },
      expect: { reads: ['found by the worker'] },
    },
    {
      name: 'a worker that computes for ever',
      why: 'There must be an end; the page without it is a page.',
      limit: true,
      routes: {
        '': scripted(`show('without it'); new Worker(URL.createObjectURL(new Blob(['for (;;);'])))`),
      },
      expect: { reads: ['without it'] },
    },
    {
      name: 'a worker that starts a worker',
      why: 'Only the outer one knows the inner one.',
      routes: {
        '': scripted(`new Worker('outer.js').onmessage = ({ data }) => show(data)`),
        'outer.js': script(`new Worker('inner.js').onmessage = ({ data }) => postMessage(data)`, 30),
        'inner.js': script(`importScripts('lib.js'); setTimeout(() => postMessage(word), 120)`, 30),
        'lib.js': script(`const word = 'from the inner worker'`, 30),
      },
      expect: { reads: ['from the inner worker'] },
    },
    {
      name: 'a shared worker',
      why: 'It belongs to no page.',
      routes: {
        '': scripted(
          `const { port } = new SharedWorker('shared.js'); port.onmessage = ({ data }) => show(data); port.postMessage('')`,
        ),
        'shared.js': script(
          `onconnect = ({ ports: [port] }) => { port.onmessage = () => setTimeout(() => port.postMessage('shared word'), 100) }`,
        ),
      },
      expect: { reads: ['shared word'] },
    },
    {
      name: 'a shared worker whose script is slow, and that asks a slow server',
      why: 'Neither its script nor its requests are those of the page, nor does anything tell the page of them.',
      routes: {
        '': scripted(
          `new SharedWorker('shared.js#1', { type: 'module' }).port.onmessage = ({ data }) => setTimeout(() => show(data), 2000)`,
        ),
        'shared.js': script(
          `import { word } from './word.js'; onconnect = async ({ ports: [port] }) => port.postMessage(word + (await (await fetch('rest.js')).text()))`,
          1_100,
        ),
        'word.js': script(`export const word = 'shared at '`, 40),
        'rest.js': script('length', 1_100),
      },
      expect: { reads: ['shared at length'] },
    },
    {
      name: 'a shared worker that is asked by two frames, and again after each answer',
      why: 'The second one has no script to load; each answer is the reason for the next question.',
      routes: {
        '': scripted(`const { port } = new SharedWorker('shared.js'); let n = 0
          port.onmessage = () => ++n < 5 ? port.postMessage('') : show('answer ' + n); port.postMessage('')
          const frame = document.createElement('iframe'); frame.src = 'inner'; document.body.append(frame)`),
        inner: `<script>const { port } = new SharedWorker('shared.js'); port.onmessage = () => parent.show('inner answer'); port.postMessage('')</script>`,
        'shared.js': script(
          `onconnect = ({ ports: [port] }) => { port.onmessage = () => setTimeout(() => port.postMessage(''), 90) }`,
        ),
      },
      expect: { reads: ['answer 5', 'inner answer'] },
    },
    {
      name: 'a worker whose script comes after two seconds',
      why: 'It is a script like those of the page, without which there is no content; but its end is not reported.',
      routes: {
        '': scripted(`new Worker('worker.js').onmessage = ({ data }) => setTimeout(() => show(data), 2000)`),
        'worker.js': (_request, response) => void response.writeHead(302, { location: 'moved.js' }).end(),
        'moved.js': script(`setTimeout(() => postMessage('late but here'), 500)`, 2_000),
      },
      expect: { reads: ['late but here'] },
    },
    {
      name: 'workers that fail, are ended, or are not allowed',
      why: 'It is never reported that their scripts have loaded.',
      routes: {
        '': scripted(`const csp = document.createElement('iframe'); csp.src = 'strict'; document.body.append(csp)
          new Worker('slow.js').terminate(); new Worker('none.js').onerror = () => show('no worker')
          new SharedWorker('none.js', 'x')`),
        'slow.js': never,
        'none.js': status(404),
        strict: `<meta http-equiv="Content-Security-Policy" content="worker-src 'none'"><script>new Worker('slow.js').onerror = () => parent.show('not allowed')</script>`,
      },
      expect: { reads: ['no worker', 'not allowed'] },
    },
    {
      name: 'a worker that answers again and again',
      why: 'A page may ask its worker after each answer; the last one counts.',
      routes: {
        '': scripted(`const worker = new Worker('worker.js'); let n = 0
          worker.onmessage = () => ++n < 6 ? worker.postMessage('') : show('answer ' + n); worker.postMessage('')`),
        'worker.js': script(`onmessage = () => setTimeout(() => postMessage(''), 90)`),
      },
      expect: { reads: ['answer 6'] },
    },
    {
      name: 'a service worker that cannot be',
      why: 'It would outlive the render and answer the next; pages must go on without.',
      routes: {
        '': scripted(`navigator.serviceWorker.register('sw.js').then(() => show('registered'), (error) => show('without: ' + error.name))
          navigator.serviceWorker.getRegistrations().then((all) => show(all.length + ' registrations'))`),
        'sw.js': script(`onfetch = (event) => event.respondWith(new Response('wrong'))`),
      },
      expect: { reads: ['without: SecurityError', '0 registrations'] },
    },
    {
      name: 'a BroadcastChannel between page and frame',
      why: 'Messages that belong to no window.',
      routes: {
        '': page(
          `<p id="out">waiting</p><script>new BroadcastChannel('c').onmessage = ({ data }) => { out.textContent = data }</script><iframe src="inner"></iframe>`,
        ),
        inner: `<script>new BroadcastChannel('c').postMessage('heard on the channel')</script>`,
      },
      expect: { reads: ['heard on the channel'] },
    },
    {
      name: 'a stream that is refused',
      why: 'An event stream that fails asks again every few seconds, for ever.',
      routes: {
        '': scripted(
          `show('page'); new EventSource('none').onerror = () => {}; setTimeout(() => show('later'), 4000)`,
        ),
        none: status(500),
      },
      expect: { reads: ['page', 'later'] },
    },
  ],
}
