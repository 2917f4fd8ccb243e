import { scripted } from '../../support/renderer.ts'
import { inParts, never, script, status, type Theme } from '../corpus-page.ts'

/** Connections that stay open, documents that come slowly, and workers, which live in real time. */
export const streams: Theme = {
  'an event stream that never stops speaking': {
    why: 'Each event looks like progress.',
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
    why: 'By the real clock it comes when all the time of the page has long been spent.',
    document: scripted`const socket = new WebSocket('wss://' + location.host + location.pathname + 'live')
          socket.onmessage = ({ data }) => setTimeout(() => show(data), 2000)`,
    sockets: { live: (heard, say) => void (heard ?? setTimeout(() => say('shown at last'), 80)) },
    expect: { reads: ['shown at last'] },
  },
  'a WebSocket that is refused': {
    why: 'The page goes on without it.',
    document: scripted`new WebSocket('wss://' + location.host + location.pathname + 'nobody').onerror = () => show('no live prices')`,
    expect: { reads: ['no live prices'] },
  },
  'a document that never ends': {
    why: 'Old chats keep the document itself open.',
    document: inParts(
      'text/html; charset=utf-8',
      ['<!DOCTYPE html><title>t</title>', '<p>welcome</p>'],
      50,
      'open',
    ),
    expect: { reads: ['welcome'] },
  },
  'a document that comes for seven seconds': {
    why: 'A slow server computes one part after the other; each pause is short, and half of it reads like a whole page.',
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
    why: 'Half a document reads like a whole one, and must never be kept.',
    document: inParts(
      'text/html; charset=utf-8',
      ['<!DOCTYPE html><title>t</title><p>first half</p>'],
      50,
      'break',
    ),
    expect: { outcome: 'origin-unreachable' },
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
    why: 'Its imports and requests are not those of the page.',
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
    why: 'There must be an end; the page without it is a page.',
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
    why: 'The second one has no script to load; each answer is the reason for the next question.',
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
    why: 'It is never reported that their scripts have loaded.',
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
    why: 'An event stream that fails asks again every few seconds, for ever.',
    document: scripted`show('page'); new EventSource('none').onerror = () => {}; setTimeout(() => show('later'), 4000)`,
    parts: { none: status(500) },
    expect: { reads: ['page', 'later'] },
  },
}
