import { scripted } from '../../support/renderer.ts'
import { json, type Theme } from '../corpus-page.ts'

/** Content that comes with time, and pages that never rest. */
export const timers: Theme = {
  name: 'timers',
  pages: [
    {
      name: 'a timer near the end of the budget',
      why: 'A renderer that waits for a quiet network is done after half a second.',
      routes: { '': scripted(`setTimeout(() => show('after 4.9 s'), 4900)`) },
      expect: { reads: ['after 4.9 s'] },
    },
    {
      name: 'a timer of 12 s',
      why: 'There must be an end: content is not kept from a crawler on purpose for so long.',
      limit: true,
      routes: { '': scripted(`show('now'); setTimeout(() => show('after 12 s'), 12000)`) },
      expect: { reads: ['now'], readsNot: ['after 12 s'] },
    },
    {
      name: 'timers that start timers',
      why: 'Each step looks like rest.',
      routes: {
        '': scripted(
          `let n = 0; const step = () => ++n < 48 ? setTimeout(step, 100) : show('step ' + n); step()`,
        ),
      },
      expect: { reads: ['step 48'] },
    },
    {
      name: 'an interval for ever',
      why: 'The page is never idle.',
      routes: { '': scripted(`let n = 0; setInterval(() => { if (++n === 40) show('tick ' + n) }, 100)`) },
      expect: { reads: ['tick 40'] },
    },
    {
      name: 'a timer of 0 ms for ever',
      why: 'Virtual time may not stand still between two tasks that are due at once.',
      routes: {
        '': scripted(
          `const spin = () => setTimeout(spin, 0); spin(); setTimeout(() => show('after 3 s'), 3000)`,
        ),
      },
      expect: { reads: ['after 3 s'] },
    },
    {
      name: 'messages to itself for ever',
      why: 'Tasks without a delay never let a jumping clock jump.',
      routes: {
        '': scripted(`const { port1, port2 } = new MessageChannel()
          port1.onmessage = () => port2.postMessage(0); port2.postMessage(0)
          setTimeout(() => show('after 2 s'), 2000)`),
      },
      expect: { reads: ['after 2 s'] },
    },
    {
      name: 'slices of work by message channel',
      why: "React's scheduler works so; a renderer that looks between two slices sees half a tree.",
      routes: {
        '': scripted(`const { port1, port2 } = new MessageChannel(); let n = 0
          port1.onmessage = () => ++n < 300 ? port2.postMessage(0) : show('slice ' + n); port2.postMessage(0)`),
      },
      expect: { reads: ['slice 300'] },
    },
    {
      name: 'slices of work by postMessage and setImmediate of old',
      why: 'The older way to yield, still in many polyfills.',
      routes: {
        '': scripted(
          `let n = 0; addEventListener('message', () => ++n < 200 ? postMessage('', '*') : show('slice ' + n)); postMessage('', '*')`,
        ),
      },
      expect: { reads: ['slice 200'] },
    },
    {
      name: 'scheduler.postTask and scheduler.yield',
      why: 'Background tasks run only when the browser thinks it has time.',
      routes: {
        '': scripted(`(async () => {
          await scheduler.postTask(() => {}, { priority: 'background' }); await scheduler.yield()
          await scheduler.postTask(() => show('by the scheduler'), { priority: 'background', delay: 800 }) })()`),
      },
      expect: { reads: ['by the scheduler'] },
    },
    {
      name: 'a wait by the clock in a loop',
      why: 'Virtual time stands while a script runs: one that waits for it to go by would wait for ever.',
      routes: {
        '': scripted(`const sleep = (now, ms) => { const end = now() + ms; while (now() < end); return now() - end < 1 }
          show('by the page ' + sleep(() => performance.now(), 300)); show('by the wall ' + sleep(Date.now, 300)); show('by new dates ' + sleep(() => +new Date(), 300))
          const text = 'const end = performance.now() + 300; while (performance.now() < end); postMessage("by a worker")'
          new Worker(URL.createObjectURL(new Blob([text]))).onmessage = ({ data }) => show(data)`),
      },
      expect: { reads: ['by the page true', 'by the wall true', 'by new dates true', 'by a worker'] },
    },
    {
      name: 'a storm of microtasks',
      why: '200,000 promise steps before the first line.',
      routes: {
        '': scripted(
          `let n = 0; const step = () => ++n < 200000 ? queueMicrotask(step) : show('microtask ' + n); step()`,
        ),
      },
      expect: { reads: ['microtask 200000'] },
    },
    {
      name: 'animation frames that count up',
      why: 'Numbers roll from 0 to their value by frames, which are not drawn under virtual time.',
      routes: {
        '': scripted(`const b = document.createElement('b'); document.body.append(b); let start
          requestAnimationFrame(function frame(now) { start ??= now
            const part = Math.min((now - start) / 2000, 1); b.textContent = Math.round(part * 48213) + ' users'
            if (part < 1) requestAnimationFrame(frame) })`),
      },
      expect: { reads: ['48213 users'] },
    },
    {
      name: 'animation frames for ever',
      why: 'A game loop or a canvas never stops asking for the next frame.',
      routes: {
        '': scripted(`let start; requestAnimationFrame(function frame(now) { start ??= now
          if (now - start > 3500 && start !== 0) { show('after 3.5 s of frames'); start = Infinity } requestAnimationFrame(frame) })`),
      },
      expect: { reads: ['after 3.5 s of frames'] },
    },
    {
      name: 'two frames, then work in idle time',
      why: 'The usual way to do something after the first paint.',
      routes: {
        '': scripted(`requestAnimationFrame(() => requestAnimationFrame(() => requestIdleCallback(
          (deadline) => { if (deadline.timeRemaining() > 0 && !deadline.didTimeout) show('idle at last') }, { timeout: 2000 })))`),
      },
      expect: { reads: ['idle at last'] },
    },
    {
      name: 'a cancelled frame and a cancelled idle callback',
      why: 'A shim that does not cancel runs what the page took back.',
      routes: {
        '': scripted(`cancelAnimationFrame(requestAnimationFrame(() => show('wrong frame')))
          cancelIdleCallback(requestIdleCallback(() => show('wrong idle'))); setTimeout(() => show('done'), 200)`),
      },
      expect: { reads: ['done'], readsNot: ['wrong'] },
    },
    {
      name: 'clocks that agree',
      why: 'Date, performance.now, timers, frames, events and animations are shown one time.',
      routes: {
        '': scripted(`const d = Date.now(), p = performance.now(), a = document.timeline.currentTime, m = document.body.animate([{ opacity: 0 }, { opacity: 1 }], 10000)
          setTimeout(() => requestAnimationFrame((frame) => {
            const run = performance.now() - p, close = (other) => Math.abs(other - run) < 40
            show('date ' + close(Date.now() - d)); show('timeline ' + close(document.timeline.currentTime - a)); show('animation ' + close(m.currentTime)); show('frame ' + close(frame - p)); show('three seconds ' + (run >= 3000 && run < 3200))
            const event = new Event('x'); show('event ' + close(event.timeStamp - p)); show('origin ' + (Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 50))
          }), 3000)`),
      },
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
    {
      name: 'a countdown by the wall clock',
      why: 'It compares Date.now() with a deadline: a clock that stands shows the wrong side.',
      routes: {
        '': scripted(`const end = Date.now() + 2500; const timer = setInterval(() => {
          if (Date.now() >= end) { clearInterval(timer); show('the sale is open') } }, 250)`),
      },
      expect: { reads: ['the sale is open'] },
    },
    {
      name: 'prerenderReady held for longer than the budget',
      why: 'The page knows best: nothing is taken before it says so.',
      routes: {
        '': scripted(`window.prerenderReady = false
          setTimeout(() => { show('after 9 s'); window.prerenderReady = true }, 9000)`),
      },
      expect: { reads: ['after 9 s'] },
    },
    {
      name: 'prerenderReady said early',
      why: 'Ready means now: what comes later is not waited for.',
      routes: {
        '': scripted(`window.prerenderReady = false
          setTimeout(() => { show('ready'); window.prerenderReady = true; fetch('slow.json').then(() => show('too late')) }, 300)`),
        'slow.json': json({}, 1_500),
      },
      expect: { reads: ['ready'], readsNot: ['too late'] },
    },
    {
      name: 'renderComplete and renderReady',
      why: 'Rendertron and others named the same flag differently; all that are set must come true.',
      routes: {
        '': scripted(`window.renderComplete = false; window.renderReady = false
          setTimeout(() => { window.renderComplete = true }, 100)
          setTimeout(() => { show('after 6 s'); window.renderReady = true }, 6000)`),
      },
      expect: { reads: ['after 6 s'] },
    },
    {
      name: 'prerenderReady never said',
      why: 'A script that fails before the flag must not give a page that calls itself unfinished.',
      routes: { '': scripted(`window.prerenderReady = false; show('half a page'); null.x`) },
      expect: { outcome: 'timed-out' },
    },
    {
      name: 'prerenderReady held until a slow answer',
      why: 'Held and loading at once: neither may end the other.',
      routes: {
        '': scripted(`window.prerenderReady = false
          fetch('slow.json').then((r) => r.json()).then(({ text }) => setTimeout(() => { show(text); window.prerenderReady = true }, 6000))`),
        'slow.json': (_request, response) =>
          void setTimeout(
            () =>
              response.writeHead(200, { 'content-type': 'application/json' }).end('{"text":"slow and late"}'),
            700,
          ),
      },
      expect: { reads: ['slow and late'] },
    },
  ],
}
