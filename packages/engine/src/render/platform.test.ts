/** What a page finds of a browser's platform, where a render has less than a person's browser. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openRenderer, scripted } from '../../../../test/support/renderer.ts'

const renderer = await openRenderer()

type Case = { script: string; head?: string; shows: string[] }

const MINUTE = 60_000

/** Every case is a page whose script adds lines with `show`. */
const subjects: Record<string, Record<string, Case>> = {
  'a film or sound of the network': {
    'fires no error, in a document and outside of one, to a listener, a handler or the window': {
      script: `addEventListener('error', () => show('window'), true)
        const tune = new Audio('/a.mp3'); tune.addEventListener('error', () => show('listener'))
        const film = document.createElement('video'); film.onerror = () => show('handler'); film.src = 'https://media.example/b.mp4'
        document.body.insertAdjacentHTML('beforeend', '<audio src="/c.ogg" onerror="show(1)"></audio><video><source src="/d.webm" onerror="show(2)"></video>')
        setTimeout(() => show('end'), 500)`,
      shows: ['end'],
    },
    'is loading, without a fault': {
      script: `const film = document.createElement('video'); film.src = '/a.webm'; document.body.append(film)
        setTimeout(() => show([film.error, film.networkState === film.NETWORK_LOADING, film.readyState].join()), 500)`,
      shows: [',true,0'],
    },
    'does not reject play()': {
      script: `const film = document.createElement('video'); film.muted = true; film.innerHTML = '<source src="/a.webm">'
        film.play().then(() => show('plays'), (e) => show(e.name)); setTimeout(() => show('paused: ' + film.paused), 500)`,
      shows: ['paused: false'],
    },
  },
  'a film of the page’s own bytes': {
    'that is broken fires its error and rejects play()': {
      script: `// The film is read in real time, which the page's clock does not wait for.
        prerenderReady = false; let told = 0; const tell = (text) => { show(text); prerenderReady = ++told === 2 }
        const film = document.createElement('video'); film.muted = true; film.onerror = () => tell('error ' + film.error.code)
        film.src = 'data:video/webm,nonsense'; film.play().catch((e) => tell(e.name))`,
      shows: ['error 4', 'NotSupportedError'],
    },
  },
  'a font of the network': {
    'is loaded after load(), with its events and in check()': {
      head: '<style>@font-face { font-family: "Grey Heron"; src: url(https://fonts.example/a.woff2) }</style>',
      script: `document.fonts.onloadingerror = () => show('loadingerror')
        document.fonts.addEventListener('loadingdone', (e) => show('done ' + e.fontfaces.length))
        document.fonts.load('bold 12px "Grey Heron"').then((faces) => show(faces.map((f) => f.family + ' ' + f.status).join() + ' ' + document.fonts.check('12px "Grey Heron"')))`,
      shows: ['Grey Heron loaded true', 'done 1'],
    },
    'that a text uses is loaded when the set is ready': {
      head: '<style>@font-face { font-family: Otter; src: url(/o.woff) } ul { font-family: Otter }</style>',
      script: `show('x'); document.fonts.ready.then(() => show([...document.fonts][0].status))`,
      shows: ['x', 'loaded'],
    },
    'of a script has a loaded promise': {
      script: `const face = new FontFace('Swift', 'url(/s.woff2) format("woff2")'); face.load(); face.loaded.then((f) => show(String(f === face)))`,
      shows: ['true'],
    },
  },
  'a font that no browser could load': {
    'rejects: broken bytes, a wrong source, a font that cannot be read': {
      script: `new FontFace('A', new ArrayBuffer(8)).load().catch((e) => show('bytes ' + e.name))
        new FontFace('B', '!').load().catch((e) => show('source ' + e.name)); document.fonts.load('nonsense').catch((e) => show('font ' + e.name))`,
      shows: ['bytes SyntaxError', 'source SyntaxError', 'font SyntaxError'],
    },
  },
  'a service worker': {
    'is registered and active, and controls nothing yet': {
      script: `navigator.serviceWorker.register('/sw.js').then(async (made) => { const r = await navigator.serviceWorker.ready
        show([r === made, r instanceof ServiceWorkerRegistration, r.active.state, new URL(r.scope).pathname, navigator.serviceWorker.controller].join())
        r.addEventListener('updatefound', () => {}); show(String(await r.pushManager.getSubscription())); show(String((await navigator.serviceWorker.getRegistration()) === r)) })`,
      shows: ['true,true,activated,/,', 'null', 'true'],
    },
    'of another origin is refused': {
      script: `navigator.serviceWorker.register('https://other.example/sw.js').catch((e) => show(e.name))`,
      shows: ['SecurityError'],
    },
    'that does not cover the page does not make it ready': {
      script: `navigator.serviceWorker.ready.then(() => show('ready')); navigator.serviceWorker.register('/sw.js', { scope: '/elsewhere/' }).then(() => show('registered'))`,
      shows: ['registered'],
    },
  },
  'a connection between browsers': {
    'can be made, offers, and never connects': {
      script: `const line = new RTCPeerConnection({ iceServers: [{ urls: 'stun:stun.example:3478' }] }); line.onicecandidate = () => show('candidate')
        const talk = line.createDataChannel('talk'); line.createOffer().then((offer) => line.setLocalDescription(offer)).then(() => {
        show([line.localDescription.type, line.connectionState, talk.readyState].join()); line.close(); show(line.signalingState) })`,
      shows: ['offer,new,connecting', 'closed'],
    },
  },
  'a mouse': {
    'points and hovers, also in style sheets': {
      head: '<style>@media (any-hover: hover) and (any-pointer: fine) { ul { counter-reset: mouse } }</style>',
      script: `show(['(hover)', '(pointer: fine)', '(hover: none)', '(pointer: coarse)'].map((q) => matchMedia(q).matches).join()); show(getComputedStyle(out).counterReset)`,
      shows: ['true,true,false,false', 'mouse 0'],
    },
  },
  'a picture': {
    'of the page’s own bytes has its true size, also after its address was revoked': {
      script: `const c = document.createElement('canvas'); c.width = 31; c.height = 7; c.toBlob((b) => { const u = URL.createObjectURL(b); const i = new Image()
        i.addEventListener('load', () => { URL.revokeObjectURL(u); show([i.naturalWidth, i.naturalHeight, i.complete].join()) }); i.src = u }, 'image/webp')
        const s = new Image(); s.src = URL.createObjectURL(new Blob(['<svg xmlns="http://www.w3.org/2000/svg" width="9" height="5"/>'], { type: 'image/svg+xml' })); s.decode().then(() => show(s.naturalWidth + ' by ' + s.naturalHeight))`,
      shows: ['31,7,true', '9 by 5'],
    },
    'of the page’s own bytes that are none fires its error': {
      script: `const i = new Image(); i.onerror = () => show('error'); i.src = URL.createObjectURL(new Blob(['no picture'], { type: 'image/png' }))`,
      shows: ['error'],
    },
    'of a button, a preload or a drawing fires load': {
      script: `document.body.insertAdjacentHTML('beforeend', '<input type="image" src="/a.png" onload="show(1)"><svg><image href="/b.png" onload="show(2)"/></svg>')
        const l = document.createElement('link'); Object.assign(l, { rel: 'preload', as: 'image', href: '/c.png', onload: () => show(3) }); document.head.append(l)`,
      shows: ['1', '2', '3'],
    },
  },
  'a person who has decided nothing': {
    'is asked for each thing, and may do what needs no question': {
      script: `const states = ['camera', 'geolocation', 'push', 'clipboard-write', 'gyroscope'].map((name) => navigator.permissions.query({ name, userVisibleOnly: true }))
        Promise.all(states).then((all) => show(all.map((p) => p.state + ' ' + (p instanceof PermissionStatus)).join()))`,
      shows: ['prompt true,prompt true,prompt true,granted true,granted true'],
    },
    'dismisses a question for notifications, also one with a callback': {
      script: `Notification.requestPermission((answer) => show('called back: ' + answer)).then((answer) => show('resolved: ' + answer)); show('now: ' + Notification.permission)`,
      shows: ['now: default', 'called back: default', 'resolved: default'],
    },
    'dismisses a question for a camera; a wrong question is an error': {
      script: `navigator.mediaDevices.getUserMedia({ video: { facingMode: 'user' } }).catch((e) => show(e.name + ': ' + e.message))
        navigator.mediaDevices.getUserMedia({}).catch((e) => show(e.name))`,
      shows: ['NotAllowedError: Permission dismissed', 'TypeError'],
    },
    'has a camera, a microphone and a loudspeaker without names': {
      script: `navigator.mediaDevices.enumerateDevices().then((all) => show(all.map((d) => [d.kind, d.label === '', d instanceof MediaDeviceInfo].join(' ')).join()))`,
      shows: ['audioinput true true,videoinput true true,audiooutput true true'],
    },
    'keeps the screen awake until it is released': {
      script: `navigator.wakeLock.request().then(async (lock) => { const before = lock.released; await lock.release(); show([lock.type, before, lock.released, lock instanceof WakeLockSentinel].join()) })`,
      shows: ['screen,false,true,true'],
    },
  },
  'a browser with a window': {
    'shows PDF': {
      script: `show([navigator.pdfViewerEnabled, navigator.plugins.length, navigator.plugins[0].name, navigator.plugins.namedItem('Chrome PDF Viewer') !== null, navigator.mimeTypes['text/pdf'].suffixes].join())
        show([...navigator.plugins].length + ' ' + (navigator.plugins instanceof PluginArray) + ' ' + navigator.plugins.namedItem('Flash'))`,
      shows: ['true,5,PDF Viewer,true,pdf', '5 true null'],
    },
    'has a global of its name, with the times of the load': {
      script: `addEventListener('load', () => setTimeout(() => show([typeof chrome.app, chrome.loadTimes().finishLoadTime > 0, chrome.csi().onloadT > 0].join()), 50))`,
      shows: ['object,true,true'],
    },
    'hides the code of its functions': {
      script: `show([requestAnimationFrame, IntersectionObserver, RTCPeerConnection, PerformanceObserver, fetch].map((of) => /\\[native code\\]/.test(of)).join())
        show([new IntersectionObserver(() => {}).constructor === IntersectionObserver, new RTCPeerConnection() instanceof RTCPeerConnection].join())`,
      shows: ['true,true,true,true,true', 'true,true'],
    },
  },
  'a first paint': {
    'is told to observers of before and of after, each once': {
      script: `let told = 0; const early = new PerformanceObserver((list) => show('early ' + list.getEntriesByName('first-contentful-paint').length + ' of ' + list.getEntries().length + ', ' + ++told))
        early.observe({ entryTypes: ['paint', 'mark'] })
        setTimeout(() => new PerformanceObserver((list, own) => { show('late ' + list.getEntries()[0].entryType); own.disconnect() }).observe({ type: 'largest-contentful-paint', buffered: true }), 500)`,
      shows: ['early 1 of 2, 1', 'late largest-contentful-paint'],
    },
    'is in the list of entries; no observer hears of it once it is disconnected': {
      script: `const one = new PerformanceObserver(() => show('heard')); one.observe({ type: 'paint' }); one.disconnect()
        setTimeout(() => show([performance.getEntriesByType('paint').length, performance.getEntriesByName('first-paint').length, performance.getEntriesByType('mark').length, performance.getEntriesByType('paint')[0] instanceof PerformancePaintTiming].join()), 500)`,
      shows: ['2,1,0,true'],
    },
    'leaves other entries to the browser': {
      script: `new PerformanceObserver((list) => show(list.getEntries().map((e) => e.name).join())).observe({ type: 'mark' }); performance.mark('own')`,
      shows: ['own'],
    },
  },
  'a file of the site’s own host by http': {
    'is loaded: a script, a style sheet and data': {
      head: '<script src="http://shop.example/own.js"></script><link rel="stylesheet" href="http://shop.example/own.css">',
      script: `show(typeof own); show(getComputedStyle(out).paddingTop); fetch('http://shop.example/own.json').then((r) => r.json()).then((d) => show(String(d)), (e) => show(e.message))`,
      shows: ['number', '3px', '5'],
    },
  },
}
renderer.routes.set(
  '/own.js',
  (_request, response) => void response.setHeader('content-type', 'text/javascript').end('var own = 1'),
)
renderer.routes.set(
  '/own.css',
  (_request, response) => void response.setHeader('content-type', 'text/css').end('ul { padding-top: 3px }'),
)
renderer.routes.set(
  '/own.json',
  (_request, response) => void response.setHeader('content-type', 'application/json').end('5'),
)

for (const [subject, cases] of Object.entries(subjects)) {
  describe(subject, () => {
    for (const [behaviour, { script, head, shows }] of Object.entries(cases)) {
      it(behaviour, { timeout: MINUTE }, async () => {
        renderer.routes.set('/page', scripted(script, head))
        assert.deepEqual((await renderer.shown('/page')).sort(), [...shows].sort())
      })
    }
  })
}

it('a phone points coarsely and does not hover', async () => {
  renderer.routes.set(
    '/page',
    scripted`show(['(hover)', '(pointer: fine)', '(hover: none)', '(pointer: coarse)'].map((q) => matchMedia(q).matches).join())`,
  )
  assert.deepEqual(await renderer.shown('/page', { visitor: { device: 'mobile' } }), [
    'false,false,true,true',
  ])
})

it('a phone has no viewer of PDF', async () => {
  renderer.routes.set('/page', scripted`show(navigator.pdfViewerEnabled + ' ' + navigator.plugins.length)`)
  assert.deepEqual(await renderer.shown('/page', { visitor: { device: 'mobile' } }), ['false 0'])
})
