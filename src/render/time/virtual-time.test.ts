import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type http from 'node:http'
import type { Duplex } from 'node:stream'
import { after, describe, it } from 'node:test'

import { type Answer, scripted, slowJson, startTestRenderer } from '../../../test/support/renderer.ts'

const renderer = await startTestRenderer()
renderer.origin.on('upgrade', sayLate)
after(() => renderer.close())

/** Each script shows `late` when all is there. What it shows has to be in the snapshot. */
const complete: Record<string, { script: string; routes?: Record<string, Answer> }> = {
  'a timer of 1 s': { script: `setTimeout(() => show('late'), 1000)` },
  'a timer of 4.5 s': { script: `setTimeout(() => show('late'), 4500)` },
  'timers that start timers': {
    script: `let n = 0; const tick = () => ++n < 20 ? setTimeout(tick, 200) : show('late'); tick()`,
  },
  'an animation of 800 ms': {
    script: `let start; requestAnimationFrame(function step(t) { start ??= t; t - start < 800 ? requestAnimationFrame(step) : show('late') })`,
  },
  'work for idle times': {
    script: `requestIdleCallback(({ timeRemaining }) => timeRemaining() > 0 && show('late'))`,
  },
  'an element far below that must be seen': {
    script: `const far = document.createElement('div'); far.style.marginTop = '20000px'; document.body.append(far)
      new IntersectionObserver((entries, self) => entries[0].isIntersecting && (self.disconnect(), show('late'))).observe(far)`,
  },
  'five fetches, each after the other': {
    script: `(async () => { for (let i = 0; i < 5; i++) await (await fetch('/slow?' + i)).json(); show('late') })()`,
    routes: { '/slow': slowJson(60, {}) },
  },
  'an answer that takes 1.2 s': {
    script: `fetch('/slower').then((r) => r.json()).then(() => show('late'))`,
    routes: { '/slower': slowJson(1_200, {}) },
  },
  'a fetch that is not read, and then one that is read by and by while it still comes': {
    script: `fetch('/slow').then(() => fetch('/pieces')).then(async ({ body }) => {
      const reader = body.getReader()
      for (let text = ''; ; ) {
        await new Promise((resolve) => setTimeout(resolve, 300))
        const { done, value } = await reader.read()
        if (done) return show(text.endsWith('piece 1') ? 'late' : text)
        text += new TextDecoder().decode(value)
      }
    })`,
    routes: { '/slow': slowJson(20, {}), '/pieces': inPieces(6, 120) },
  },
  'a fetch that is read after a while': {
    script: `fetch('/slow').then((answer) => setTimeout(() => answer.json().then(show), 900))`,
    routes: { '/slow': slowJson(20, 'late') },
  },
  'a fetch that is read after files have been': {
    script: `fetch('/slow').then(async (answer) => {
      for (let file = 0; file < 8; file++)
        await new Promise((resolve) => {
          const reader = new FileReader()
          reader.onload = resolve
          reader.readAsText(new Blob(['x'.repeat(3e6)]))
        })
      show(await answer.json())
    })`,
    routes: { '/slow': slowJson(20, 'late') },
  },
  'an answer that a cache is filled with': {
    script: `caches.open('one').then(async (cache) => {
      await cache.add('/pieces')
      show((await (await cache.match('/pieces')).text()).endsWith('piece 1') ? 'late' : 'half')
    })`,
    routes: {
      '/pieces': (request, response) => {
        response.setHeader('content-type', 'application/octet-stream')
        inPieces(6, 120)(request, response)
      },
    },
  },
  'a fetch that never ends beside one that brings content': {
    script: `fetch('/never'); fetch('/slow').then((r) => r.json()).then(() => setTimeout(() => show('late'), 300))`,
    routes: { '/slow': slowJson(60, {}), '/never': () => {} },
  },
  'an event stream': {
    script: `new EventSource('/events').onmessage = ({ data }) => show(data)`,
    routes: {
      '/events': (_request: http.IncomingMessage, response: http.ServerResponse) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
        setTimeout(() => response.write('data: late\n\n'), 60)
      },
    },
  },
  'a web socket': {
    script: `new WebSocket('wss://' + location.host + '/socket').onmessage = ({ data }) => show(data)`,
  },
  'a worker that needs 150 ms': {
    script: `new Worker('/worker.js').onmessage = ({ data }) => show(data)`,
    routes: {
      '/worker.js': (_request: http.IncomingMessage, response: http.ServerResponse) =>
        response
          .setHeader('content-type', 'text/javascript')
          .end(`setTimeout(() => postMessage('late'), 150)`),
    },
  },
  'an image that must have loaded': {
    script: `const img = new Image(); img.onload = () => show('late'); img.onerror = () => show('broken'); img.src = '/picture.jpg'`,
  },
  'an image in the markup, and decode()': {
    script: `document.body.insertAdjacentHTML('beforeend', '<img id="pic" src="/picture.jpg">')
      pic.addEventListener('load', async () => { await pic.decode(); if (pic.complete && pic.naturalWidth > 0) show('late') })`,
  },
  'a module that imports another by need, and awaits at its top': {
    script: `const s = document.createElement('script'); s.type = 'module'; s.textContent = "const { text } = await import('/part.js'); await new Promise(r => setTimeout(r, 500)); show(text)"; document.body.append(s)`,
    routes: {
      '/part.js': (_request: http.IncomingMessage, response: http.ServerResponse) =>
        response.setHeader('content-type', 'text/javascript').end(`export const text = 'late'`),
    },
  },
  'the size of an element': {
    script: `const box = document.createElement('div'); box.style.width = '50px'; document.body.append(box)
      new ResizeObserver(([entry]) => entry.contentRect.width === 50 && show('late')).observe(box)`,
  },
  'the end of an animation': {
    script: `document.head.insertAdjacentHTML('beforeend', '<style>@keyframes k { to { opacity: 0 } }</style>')
      const box = document.createElement('div'); box.style.animation = 'k 1s'; box.onanimationend = () => show('late'); document.body.append(box)`,
  },
  'the end of a transition': {
    script: `const box = document.createElement('div'); box.style.cssText = 'transition: opacity 300ms; opacity: 0'
      document.body.append(box); box.getBoundingClientRect(); box.ontransitionend = () => show('late')
      setTimeout(() => { box.style.opacity = 1 }, 50)`,
  },
  'an animation made by script': {
    script: `document.body.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 500 }).finished.then(() => show('late'))`,
  },
  'a data base, then a fetch, then a timer': {
    script: `indexedDB.open('a').onsuccess = async () => { await fetch('/slow'); setTimeout(() => show('late'), 1000) }`,
    routes: { '/slow': slowJson(30, {}) },
  },
  'a key made by cryptography': {
    script: `crypto.subtle.generateKey({ name: 'RSASSA-PKCS1-v1_5', modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }, true, ['sign'])
      .then(() => show('late'))`,
  },
  'a lazy image far below': {
    script: `document.body.insertAdjacentHTML('beforeend', '<div style="height:20000px"></div><img id="pic" loading="lazy" src="/a.jpg">')
      pic.onload = () => show('late')`,
  },
  'dialogs without an answer': { script: `alert('a'); confirm('b'); prompt('c'); show('late')` },
  'a page that holds the capture longer than its time': {
    script: `window.prerenderReady = false; setTimeout(() => { show('late'); window.prerenderReady = true }, 9000)`,
  },
  'the other spellings of the same': {
    script: `window.renderComplete = false; window.renderReady = false
      setTimeout(() => { window.renderComplete = true }, 100); setTimeout(() => { show('late'); window.renderReady = true }, 8000)`,
  },
}

describe('what a page still does is in its snapshot', () => {
  for (const [name, { script, routes = {} }] of Object.entries(complete)) {
    it(name, async () => {
      for (const [path, answer] of Object.entries(routes)) renderer.routes.set(path, answer)
      renderer.routes.set('/case', scripted(script))
      assert.match(await renderer.html('/case'), /<li>late<\/li>/)
    })
  }

  it('polling for ever: some rounds, and an end', async () => {
    renderer.routes.set('/poll', slowJson(10, {}))
    renderer.routes.set(
      '/case',
      scripted(
        `let n = 0; setInterval(() => fetch('/poll').then((r) => r.json()).then(() => show('round ' + ++n)), 500)`,
      ),
    )
    assert.match(await renderer.html('/case'), /round 5/)
  })

  it('a long poll that asks again at once: an end', async () => {
    renderer.routes.set('/poll', slowJson(20, {}))
    renderer.routes.set(
      '/case',
      scripted(`show('first'); (async () => { for (;;) await (await fetch('/poll')).json() })()`),
    )
    assert.match(await renderer.html('/case'), /first/)
  })

  it('a list that grows by its own end: some pages, and an end', async () => {
    renderer.routes.set(
      '/case',
      scripted(`const end = document.createElement('p'); document.body.append(end); let n = 0
        const seen = new IntersectionObserver(() => { show('more ' + ++n); seen.unobserve(end); seen.observe(end) }); seen.observe(end)`),
    )
    const html = await renderer.html('/case')
    assert.match(html, /more 3/)
    assert.doesNotMatch(html, /more 4/)
  })

  for (const [name, script] of Object.entries({
    'a timer of 0.3 s': `setTimeout(() => show('late'), 300)`,
    'an interval': `setInterval(() => show('late'), 300)`,
    'timers that start timers': `let n = 0; const tick = () => ++n < 30 ? setTimeout(tick, 10) : show('late'); tick()`,
    'animation frames': `let n = 0; requestAnimationFrame(function step() { ++n < 20 ? requestAnimationFrame(step) : show('late') })`,
    'an idle callback after a timer': `setTimeout(() => requestIdleCallback(() => show('late')), 300)`,
  })) {
    for (const flag of ['prerenderReady', 'renderComplete', 'renderReady']) {
      it(`what comes after ${flag}: ${name} is not in the page, and the rest of its frame is`, async () => {
        const rest = `requestAnimationFrame(() => Promise.resolve().then(() => show('now')))`
        renderer.routes.set(
          '/case',
          scripted(`setTimeout(() => { window.${flag} = true; ${script}; ${rest} }, 500)`),
        )
        const html = await renderer.html('/case')
        assert.match(html, /<li>now/)
        assert.doesNotMatch(html, /<li>late/)
      })
    }
  }

  it('a flag that is true while another is false ends nothing', async () => {
    renderer.routes.set(
      '/case',
      scripted(`window.prerenderReady = false; window.renderReady = true
        setTimeout(() => { show('content'); window.prerenderReady = true }, 1000)`),
    )
    assert.match(await renderer.html('/case'), /<li>content/)
  })

  it('a page that says it is ready is taken at once, whatever it has still to do', async () => {
    renderer.routes.set('/never', () => {})
    renderer.routes.set(
      '/case',
      scripted(
        `fetch('/never'); show('now'); window.prerenderReady = true; setTimeout(() => show('late'), 3000)`,
      ),
    )
    const html = await renderer.html('/case')
    assert.match(html, /now/)
    assert.doesNotMatch(html, /late/)
  })
})

describe('time in the page', () => {
  it('runs forward by the time that was given, alike in all its clocks', async () => {
    renderer.routes.set(
      '/case',
      scripted(`const d = Date.now(), p = performance.now()
        setTimeout(() => show(JSON.stringify([Date.now() - d, Math.round(performance.now() - p)])), 3000)`),
    )
    const html = await renderer.html('/case')
    const [byDate, byPerformance] = JSON.parse(/<li>(.*?)<\/li>/.exec(html)?.[1] ?? '') as [number, number]
    assert(byDate >= 3_000 && byDate < 3_200, `Date went on by ${byDate} ms`)
    assert(Math.abs(byDate - byPerformance) <= 2)
  })
})

describe('closed shadow roots stay closed to the page', () => {
  it('although the snapshot shows them', async () => {
    renderer.routes.set(
      '/case',
      scripted(`const host = document.createElement('x-a'); document.body.append(host)
        const root = host.attachShadow({ mode: 'closed' }); root.innerHTML = '<b>inside</b>'
        show('root ' + host.shadowRoot + ' mode ' + root.mode)`),
    )
    const html = await renderer.html('/case')
    assert.match(html, /root null mode closed/)
    assert.match(html, /<template shadowrootmode="open"><b>inside<\/b><\/template>/)
  })
})

/** An answer of so many pieces, with a pause before each. */
function inPieces(pieces: number, pauseMs: number): Exclude<Answer, string> {
  return (_request, response) => {
    let left = pieces
    const more = () => {
      response.write(`piece ${left}`)
      if (--left > 0) setTimeout(more, pauseMs)
      else response.end()
    }
    setTimeout(more, pauseMs)
  }
}

function sayLate(request: http.IncomingMessage, socket: Duplex) {
  const accept = createHash('sha1')
    .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64')
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`)
  socket.write(`Sec-WebSocket-Accept: ${accept}\r\n\r\n`)
  // One text frame, after a while of real time.
  setTimeout(() => socket.write(Buffer.from([0x81, 4, ...Buffer.from('late')])), 60)
  socket.on('error', () => {})
}
