import { scripted } from '../../support/renderer.ts'
import { json, type Theme } from '../corpus-page.ts'

/** What a page may keep, which must be gone at the next render, and what it may ask of its browser. */
export const state: Theme = {
  'cookies within one visit': {
    why: 'A page that cannot keep a cookie for a moment shows a wall.',
    document: scripted`document.cookie = 'consent=yes; path=/; secure'; fetch('who.txt').then((r) => r.text()).then(show)`,
    parts: {
      'who.txt': (request, response) =>
        void response.setHeader('content-type', 'text/plain').end(`got ${request.headers.cookie ?? 'none'}`),
    },
    expect: { reads: ['got consent=yes'] },
  },
  'an API with a memory of the last visitor': {
    why: 'The HTTP cache stays warm, and yet data that must not be stored are asked for again.',
    visits: 2,
    document: scripted`fetch('data.json', { cache: 'no-store' }).then((r) => r.json()).then(({ text }) => show(text))`,
    parts: { 'data.json': json({ text: 'fresh data' }) },
    expect: { reads: ['fresh data'] },
  },
  'a secure context': {
    why: 'Half of the platform exists on https only, whatever the origin speaks.',
    document: scripted`show('secure ' + isSecureContext + ' ' + location.protocol); show('uuid ' + crypto.randomUUID().length); crypto.subtle.digest('SHA-256', new Uint8Array()).then((hash) => show('hash ' + hash.byteLength))`,
    expect: { reads: ['secure true https:', 'uuid 36', 'hash 32'] },
  },
  'things that need leave': {
    why: 'Without a person to grant it, a question without an answer holds the page for ever.',
    document: scripted`navigator.geolocation.getCurrentPosition(() => show('position'), (error) => show('no position ' + error.code))
          Notification.requestPermission().then((answer) => show('notices ' + answer)); navigator.permissions.query({ name: 'geolocation' }).then(({ state }) => show('geolocation ' + state))
          navigator.mediaDevices.getUserMedia({ video: true }).catch(() => show('no camera')); navigator.clipboard.readText().catch(() => show('no clipboard'))`,
    expect: {
      reads: ['no position 1', 'notices denied', 'geolocation denied', 'no camera', 'no clipboard'],
    },
  },
  'the shims, looked at by the page': {
    why: 'Feature tests and polyfills must find what a browser has.',
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
