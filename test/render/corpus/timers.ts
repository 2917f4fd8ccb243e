import { scripted } from '../../support/renderer.ts'
import type { Theme } from '../corpus-page.ts'

/** Content that comes with time, and pages that never rest. */
export const timers: Theme = {
  'a timer of 12 s': {
    limit: true,
    document: scripted`show('now'); setTimeout(() => show('after 12 s'), 12000)`,
    expect: { reads: ['now'], readsNot: ['after 12 s'] },
  },
  'a timer of 0 ms for ever': {
    document: scripted`const spin = () => setTimeout(spin, 0); spin(); setTimeout(() => show('after 3 s'), 3000)`,
    expect: { reads: ['after 3 s'] },
  },
  'messages to itself for ever': {
    document: scripted`const { port1, port2 } = new MessageChannel()
          port1.onmessage = () => port2.postMessage(0); port2.postMessage(0)
          setTimeout(() => show('after 2 s'), 2000)`,
    expect: { reads: ['after 2 s'] },
  },
  'slices of work by message channel': {
    document: scripted`const { port1, port2 } = new MessageChannel(); let n = 0
          port1.onmessage = () => ++n < 300 ? port2.postMessage(0) : show('slice ' + n); port2.postMessage(0)`,
    expect: { reads: ['slice 300'] },
  },
  'a wait by the clock in a loop': {
    document: scripted`const sleep = (now, ms) => { const end = now() + ms; while (now() < end); return now() - end < 1 }
          show('by the page ' + sleep(() => performance.now(), 300)); show('by the wall ' + sleep(Date.now, 300)); show('by new dates ' + sleep(() => +new Date(), 300))
          const text = 'const end = performance.now() + 300; while (performance.now() < end); postMessage("by a worker")'
          new Worker(URL.createObjectURL(new Blob([text]))).onmessage = ({ data }) => show(data)`,
    expect: { reads: ['by the page true', 'by the wall true', 'by new dates true', 'by a worker'] },
  },
  'a cancelled frame and a cancelled idle callback': {
    document: scripted`cancelAnimationFrame(requestAnimationFrame(() => show('wrong frame')))
          cancelIdleCallback(requestIdleCallback(() => show('wrong idle'))); setTimeout(() => show('done'), 200)`,
    expect: { reads: ['done'], readsNot: ['wrong'] },
  },
  'clocks that agree': {
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
}
