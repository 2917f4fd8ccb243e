import { scripted } from '../../support/renderer.ts'
import type { Theme } from '../corpus-page.ts'

/** What a page may keep, which must be gone at the next render, and what it may ask of its browser. */
export const state: Theme = {
  'cookies within one visit': {
    document: scripted`document.cookie = 'consent=yes; path=/; secure'; fetch('who.txt').then((r) => r.text()).then(show)`,
    parts: {
      'who.txt': (request, response) =>
        void response.setHeader('content-type', 'text/plain').end(`got ${request.headers.cookie ?? 'none'}`),
    },
    expect: { reads: ['got consent=yes'] },
  },
  'things that need leave': {
    document: scripted`navigator.geolocation.getCurrentPosition(() => show('position'), (error) => show('no position ' + error.code))
          Notification.requestPermission().then((answer) => show('notices ' + answer)); navigator.permissions.query({ name: 'geolocation' }).then(({ state }) => show('geolocation ' + state))
          navigator.mediaDevices.getUserMedia({ video: true }).catch(() => show('no camera')); navigator.clipboard.readText().catch(() => show('no clipboard'))`,
    expect: {
      reads: ['no position 1', 'notices denied', 'geolocation denied', 'no camera', 'no clipboard'],
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
