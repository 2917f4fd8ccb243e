import { scripted } from '../../support/renderer.ts'
import type { Theme } from '../corpus-page.ts'

/** Content that comes with time, and pages that never rest. */
export const timers: Theme = {
  'a timer of 12 s': {
    why: 'There must be an end: content is not kept from a crawler on purpose for so long.',
    limit: true,
    document: scripted`show('now'); setTimeout(() => show('after 12 s'), 12000)`,
    expect: { reads: ['now'], readsNot: ['after 12 s'] },
  },
  'a timer of 0 ms for ever': {
    why: 'Virtual time may not stand still between two tasks that are due at once.',
    document: scripted`const spin = () => setTimeout(spin, 0); spin(); setTimeout(() => show('after 3 s'), 3000)`,
    expect: { reads: ['after 3 s'] },
  },
  'messages to itself for ever': {
    why: 'Tasks without a delay never let a jumping clock jump.',
    document: scripted`const { port1, port2 } = new MessageChannel()
          port1.onmessage = () => port2.postMessage(0); port2.postMessage(0)
          setTimeout(() => show('after 2 s'), 2000)`,
    expect: { reads: ['after 2 s'] },
  },
  'slices of work by message channel': {
    why: "React's scheduler works so; a renderer that looks between two slices sees half a tree.",
    document: scripted`const { port1, port2 } = new MessageChannel(); let n = 0
          port1.onmessage = () => ++n < 300 ? port2.postMessage(0) : show('slice ' + n); port2.postMessage(0)`,
    expect: { reads: ['slice 300'] },
  },
  'slices of work by postMessage and setImmediate of old': {
    why: 'The older way to yield, still in many polyfills.',
    document: scripted`let n = 0; addEventListener('message', () => ++n < 200 ? postMessage('', '*') : show('slice ' + n)); postMessage('', '*')`,
    expect: { reads: ['slice 200'] },
  },
  'scheduler.postTask and scheduler.yield': {
    why: 'Background tasks run only when the browser thinks it has time.',
    document: scripted`(async () => {
          await scheduler.postTask(() => {}, { priority: 'background' }); await scheduler.yield()
          await scheduler.postTask(() => show('by the scheduler'), { priority: 'background', delay: 800 }) })()`,
    expect: { reads: ['by the scheduler'] },
  },
  'a wait by the clock in a loop': {
    why: 'Virtual time stands while a script runs: one that waits for it to go by would wait for ever.',
    document: scripted`const sleep = (now, ms) => { const end = now() + ms; while (now() < end); return now() - end < 1 }
          show('by the page ' + sleep(() => performance.now(), 300)); show('by the wall ' + sleep(Date.now, 300)); show('by new dates ' + sleep(() => +new Date(), 300))
          const text = 'const end = performance.now() + 300; while (performance.now() < end); postMessage("by a worker")'
          new Worker(URL.createObjectURL(new Blob([text]))).onmessage = ({ data }) => show(data)`,
    expect: { reads: ['by the page true', 'by the wall true', 'by new dates true', 'by a worker'] },
  },
  'a storm of microtasks': {
    why: '200,000 promise steps before the first line.',
    document: scripted`let n = 0; const step = () => ++n < 200000 ? queueMicrotask(step) : show('microtask ' + n); step()`,
    expect: { reads: ['microtask 200000'] },
  },
  'animation frames for ever': {
    why: 'A game loop or a canvas never stops asking for the next frame.',
    document: scripted`let start; requestAnimationFrame(function frame(now) { start ??= now
          if (now - start > 3500 && start !== 0) { show('after 3.5 s of frames'); start = Infinity } requestAnimationFrame(frame) })`,
    expect: { reads: ['after 3.5 s of frames'] },
  },
  'a cancelled frame and a cancelled idle callback': {
    why: 'A shim that does not cancel runs what the page took back.',
    document: scripted`cancelAnimationFrame(requestAnimationFrame(() => show('wrong frame')))
          cancelIdleCallback(requestIdleCallback(() => show('wrong idle'))); setTimeout(() => show('done'), 200)`,
    expect: { reads: ['done'], readsNot: ['wrong'] },
  },
  'clocks that agree': {
    why: 'Date, performance.now, timers, frames, events and animations are shown one time.',
    document: scripted`const d = Date.now(), p = performance.now(), a = document.timeline.currentTime, m = document.body.animate([{ opacity: 0 }, { opacity: 1 }], 10000)
          setTimeout(() => requestAnimationFrame((frame) => {
            const run = performance.now() - p, close = (other) => Math.abs(other - run) < 40
            show('date ' + close(Date.now() - d)); show('timeline ' + close(document.timeline.currentTime - a)); show('animation ' + close(m.currentTime)); show('frame ' + close(frame - p)); show('three seconds ' + (run >= 3000 && run < 3200))
            const event = new Event('x'); show('event ' + close(event.timeStamp - p)); show('origin ' + (Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 50))
          }), 3000)`,
    expect: {
      reads: [
        'date true',
        'timeline true',
        'animation true',
        'frame true',
        'three seconds true',
        'event true',
        'origin true',
      ],
    },
  },
  'prerenderReady held until a slow answer': {
    why: 'Held and loading at once: neither may end the other.',
    document: scripted`window.prerenderReady = false
          fetch('slow.json').then((r) => r.json()).then(({ text }) => setTimeout(() => { show(text); window.prerenderReady = true }, 6000))`,
    parts: {
      'slow.json': (_request, response) =>
        void setTimeout(
          () =>
            response.writeHead(200, { 'content-type': 'application/json' }).end('{"text":"slow and late"}'),
          700,
        ),
    },
    expect: { reads: ['slow and late'] },
  },
}
