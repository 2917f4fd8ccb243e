/**
 * What a page may ask of its browser. `ask` is an expression in the page, `person` what Chrome on a person's desktop answers
 * before the person has clicked or decided anything. `why` says why a render answers otherwise. tools/platform-table.ts makes
 * docs/platform.md of it, and platform.test.ts compares the document with what renders answer.
 */
export type Feature = { ask: string; person: string; why?: string }

const permission = (name: string, person: string, more = ''): Feature => ({
  ask: `navigator.permissions.query({ name: '${name}'${more} }).then((p) => p.state)`,
  person,
})
const query = (condition: string, person: 'true' | 'false' = 'true'): Feature => ({
  ask: `matchMedia('${condition}').matches`,
  person,
})
const kind = (name: string, person = 'function'): Feature => ({ ask: `typeof ${name}`, person })

export const FEATURES: Readonly<Record<string, Readonly<Record<string, Feature>>>> = {
  'Who asks': {
    'navigator.webdriver': { ask: 'navigator.webdriver', person: 'false' },
    'a user agent without "Headless"': { ask: `!/headless/i.test(navigator.userAgent)`, person: 'true' },
    'navigator.userAgentData.brands without "Headless"': {
      ask: `!/headless/i.test(JSON.stringify(navigator.userAgentData.brands))`,
      person: 'true',
    },
    'navigator.languages': { ask: 'navigator.languages.join()', person: 'en-US,en' },
    'navigator.vendor': { ask: 'navigator.vendor', person: 'Google Inc.' },
    'navigator.plugins.length': { ask: 'navigator.plugins.length', person: '5' },
    'navigator.pdfViewerEnabled': { ask: 'navigator.pdfViewerEnabled', person: 'true' },
    'navigator.mimeTypes of PDF': { ask: `'application/pdf' in navigator.mimeTypes`, person: 'true' },
    'navigator.cookieEnabled': { ask: 'navigator.cookieEnabled', person: 'true' },
    'navigator.onLine': { ask: 'navigator.onLine', person: 'true' },
    'navigator.doNotTrack': { ask: 'navigator.doNotTrack', person: 'null' },
    'navigator.globalPrivacyControl': { ask: 'navigator.globalPrivacyControl', person: 'undefined' },
    'navigator.maxTouchPoints': { ask: 'navigator.maxTouchPoints', person: '0' },
    'navigator.hardwareConcurrency at least 2': { ask: 'navigator.hardwareConcurrency >= 2', person: 'true' },
    'navigator.deviceMemory at least 4': { ask: 'navigator.deviceMemory >= 4', person: 'true' },
    'window.chrome': { ask: 'typeof window.chrome', person: 'object' },
    'window.chrome.runtime': { ask: 'typeof window.chrome?.runtime', person: 'undefined' },
    'window.ApplePaySession': kind('window.ApplePaySession', 'undefined'),
    'navigator.userActivation.hasBeenActive': {
      ask: 'navigator.userActivation.hasBeenActive',
      person: 'false',
    },
    isSecureContext: { ask: 'isSecureContext', person: 'true' },
    crossOriginIsolated: { ask: 'crossOriginIsolated', person: 'false' },
  },
  'Window and screen': {
    'document.visibilityState': { ask: 'document.visibilityState', person: 'visible' },
    'document.hidden': { ask: 'document.hidden', person: 'false' },
    'document.hasFocus()': { ask: 'document.hasFocus()', person: 'true' },
    'document.prerendering': { ask: 'document.prerendering', person: 'false' },
    'document.wasDiscarded': { ask: 'document.wasDiscarded', person: 'false' },
    'document.referrer': { ask: 'JSON.stringify(document.referrer)', person: '""' },
    'an element is focused': {
      ask: `(() => { const field = document.createElement('input'); let told = 0; field.onfocus = () => told++; document.body.append(field); field.focus(); const is = document.activeElement === field; field.remove(); return is + ' ' + told })()`,
      person: 'true 1',
    },
    'window.name': { ask: 'JSON.stringify(window.name)', person: '""' },
    'window.opener': { ask: 'window.opener', person: 'null' },
    'history.length': { ask: 'history.length', person: '1' },
    'outerHeight larger than innerHeight': {
      ask: 'outerHeight > innerHeight',
      person: 'true',
      why: 'the window has no frame; pages size by the inner height',
    },
    'outerWidth at least innerWidth': { ask: 'outerWidth >= innerWidth', person: 'true' },
    'screen at least as large as the window': {
      ask: 'screen.width >= innerWidth && screen.height >= innerHeight && screen.availWidth >= innerWidth',
      person: 'true',
    },
    'screen.colorDepth': { ask: 'screen.colorDepth', person: '24' },
    'screen.orientation.type': { ask: 'screen.orientation.type', person: 'landscape-primary' },
    'screen.isExtended': { ask: 'screen.isExtended', person: 'false' },
    devicePixelRatio: { ask: 'devicePixelRatio', person: '1' },
    'visualViewport.scale': { ask: 'visualViewport.scale', person: '1' },
    'locationbar.visible': { ask: 'locationbar.visible', person: 'true' },
    'a scroll bar takes room': {
      ask: `(() => { const box = document.createElement('div'); box.style.cssText = 'width:100px;height:50px;overflow:scroll'; document.body.append(box); const width = 100 - box.clientWidth; box.remove(); return width > 0 })()`,
      person: 'true',
      why: 'bars are hidden, as on phones and on macOS',
    },
    'alert(), confirm(), prompt()': {
      ask: `[alert('a'), confirm('b'), prompt('c')].map(String).join()`,
      person: 'undefined,false,null',
    },
    'window.open() without a click': { ask: `window.open('about:blank')`, person: 'null' },
    'document.fullscreenEnabled': { ask: 'document.fullscreenEnabled', person: 'true' },
    'document.pictureInPictureEnabled': { ask: 'document.pictureInPictureEnabled', person: 'true' },
    'requestFullscreen() without a click': {
      ask: `document.body.requestFullscreen().then(() => 'full')`,
      person: 'TypeError',
    },
    'print()': { ask: 'typeof print', person: 'function' },
  },
  'Media queries': Object.fromEntries(
    [
      ['(hover: hover)'],
      ['(any-hover: hover)'],
      ['(pointer: fine)'],
      ['(any-pointer: fine)'],
      ['(any-pointer: coarse)', 'false'],
      ['(prefers-color-scheme: light)'],
      ['(prefers-color-scheme: dark)', 'false'],
      ['(prefers-reduced-motion: no-preference)'],
      ['(prefers-reduced-transparency: no-preference)'],
      ['(prefers-reduced-data: reduce)', 'false'],
      ['(prefers-contrast: no-preference)'],
      ['(forced-colors: none)'],
      ['(scripting: enabled)'],
      ['(update: fast)'],
      ['(overflow-block: scroll)'],
      ['(color)'],
      ['(color-gamut: srgb)'],
      ['(dynamic-range: standard)'],
      ['(monochrome)', 'false'],
      ['(grid)', 'false'],
      ['(orientation: landscape)'],
      ['(display-mode: browser)'],
      ['(display-mode: standalone)', 'false'],
      ['(min-resolution: 1dppx)'],
      ['(min-width: 1024px)'],
      ['screen'],
      ['print', 'false'],
    ].map(([condition = '', person = 'true']) => [condition, query(condition, person as 'true')]),
  ),
  Media: {
    'canPlayType of H.264 and AAC': {
      ask: `document.createElement('video').canPlayType('video/mp4; codecs="avc1.42E01E, mp4a.40.2"')`,
      person: 'probably',
    },
    'canPlayType of MP3': {
      ask: `document.createElement('audio').canPlayType('audio/mpeg')`,
      person: 'probably',
    },
    'canPlayType of WebM': {
      ask: `document.createElement('video').canPlayType('video/webm; codecs="vp9"')`,
      person: 'probably',
    },
    'canPlayType of AV1': {
      ask: `document.createElement('video').canPlayType('video/mp4; codecs="av01.0.05M.08"')`,
      person: 'probably',
    },
    'canPlayType of HLS': {
      ask: `document.createElement('video').canPlayType('application/vnd.apple.mpegurl')`,
      person: 'maybe',
    },
    'canPlayType of nonsense': {
      ask: `JSON.stringify(document.createElement('video').canPlayType('video/nonsense'))`,
      person: '""',
    },
    'MediaSource.isTypeSupported of H.264 and AAC': {
      ask: `MediaSource.isTypeSupported('video/mp4; codecs="avc1.42E01E,mp4a.40.2"')`,
      person: 'true',
    },
    'MediaSource.isTypeSupported of VP9': {
      ask: `MediaSource.isTypeSupported('video/webm; codecs="vp9"')`,
      person: 'true',
    },
    'mediaCapabilities.decodingInfo of H.264': {
      ask: `navigator.mediaCapabilities.decodingInfo({ type: 'file', video: { contentType: 'video/mp4; codecs="avc1.42E01E"', width: 640, height: 360, bitrate: 1e6, framerate: 25 } }).then((i) => i.supported)`,
      person: 'true',
    },
    'MediaRecorder.isTypeSupported of WebM': {
      ask: `MediaRecorder.isTypeSupported('video/webm')`,
      person: 'true',
    },
    'a film of the network': {
      ask: `(() => { const film = document.createElement('video'); film.src = '/film.mp4'; return new Promise((done) => { film.onerror = () => done('error'); setTimeout(done, 800, film.error + ' ' + film.networkState) }) })()`,
      person: 'null 2',
    },
    'AudioContext before a click': { ask: `new AudioContext().state`, person: 'suspended' },
    'OfflineAudioContext renders': {
      ask: `new OfflineAudioContext(1, 128, 44100).startRendering().then((b) => b.length)`,
      person: '128',
    },
    'navigator.mediaSession': kind('navigator.mediaSession', 'object'),
    'kinds of devices in enumerateDevices()': {
      ask: `navigator.mediaDevices.enumerateDevices().then((d) => [...new Set(d.map((one) => one.kind))].sort().join() || 'none')`,
      person: 'audioinput,audiooutput,videoinput',
    },
    'getUserMedia(), dismissed': {
      ask: `navigator.mediaDevices.getUserMedia({ audio: true, video: true }).then(() => 'granted')`,
      person: 'NotAllowedError',
    },
    'getDisplayMedia() without a click': {
      ask: `navigator.mediaDevices.getDisplayMedia().then(() => 'granted')`,
      person: 'InvalidStateError',
    },
    'requestMediaKeySystemAccess() of Clear Key': {
      ask: `navigator.requestMediaKeySystemAccess('org.w3.clearkey', [{ initDataTypes: ['webm'], videoCapabilities: [{ contentType: 'video/webm; codecs="vp9"' }] }]).then((a) => a.keySystem)`,
      person: 'org.w3.clearkey',
    },
    'requestMediaKeySystemAccess() of Widevine': {
      ask: `navigator.requestMediaKeySystemAccess('com.widevine.alpha', [{ initDataTypes: ['cenc'], videoCapabilities: [{ contentType: 'video/webm; codecs="vp9"' }] }]).then((a) => a.keySystem)`,
      person: 'com.widevine.alpha',
      why: 'no Chromium without a licence has it; protected films are not text',
    },
    RTCPeerConnection: { ask: `new RTCPeerConnection().signalingState`, person: 'stable' },
    'RTCRtpReceiver.getCapabilities of video': {
      ask: `RTCRtpReceiver.getCapabilities('video').codecs.length > 0`,
      person: 'true',
    },
    WebTransport: {
      ask: 'typeof WebTransport',
      person: 'function',
      why: 'it would leave around the gateway; pages fall back, as in older browsers',
    },
  },
  Fonts: {
    'document.fonts.status': { ask: `document.fonts.ready.then((set) => set.status)`, person: 'loaded' },
    'document.fonts.load() of the network': {
      ask: `(() => { document.fonts.add(new FontFace('Probe', 'url(/probe.woff2)')); return document.fonts.load('12px Probe').then((faces) => faces.map((f) => f.status).join()) })()`,
      person: 'loaded',
    },
    'document.fonts.check() of a font of the system': {
      ask: `document.fonts.check('12px serif')`,
      person: 'true',
    },
    'queryLocalFonts(), dismissed': {
      ask: `queryLocalFonts().then((fonts) => fonts.length)`,
      person: 'SecurityError',
    },
  },
  Speech: {
    speechSynthesis: kind('speechSynthesis', 'object'),
    'voices of speechSynthesis': {
      ask: `new Promise((done) => { if (speechSynthesis.getVoices().length > 0) done('some'); speechSynthesis.onvoiceschanged = () => done('some'); setTimeout(done, 1000, speechSynthesis.getVoices().length > 0 ? 'some' : 'none') })`,
      person: 'some',
    },
    webkitSpeechRecognition: kind('webkitSpeechRecognition'),
  },
  'Permissions, before the person has decided': {
    geolocation: permission('geolocation', 'prompt'),
    notifications: permission('notifications', 'prompt'),
    push: permission('push', 'prompt', ', userVisibleOnly: true'),
    camera: permission('camera', 'prompt'),
    microphone: permission('microphone', 'prompt'),
    midi: permission('midi', 'prompt'),
    'clipboard-read': permission('clipboard-read', 'prompt'),
    'clipboard-write': permission('clipboard-write', 'granted'),
    'persistent-storage': permission('persistent-storage', 'prompt'),
    'storage-access': permission('storage-access', 'prompt'),
    'local-fonts': permission('local-fonts', 'prompt'),
    'window-management': permission('window-management', 'prompt'),
    'idle-detection': permission('idle-detection', 'prompt'),
    'screen-wake-lock': permission('screen-wake-lock', 'granted'),
    'background-sync': permission('background-sync', 'granted'),
    'background-fetch': permission('background-fetch', 'granted'),
    'payment-handler': permission('payment-handler', 'granted'),
    accelerometer: permission('accelerometer', 'granted'),
    gyroscope: permission('gyroscope', 'granted'),
    magnetometer: permission('magnetometer', 'granted'),
    'an unknown name': permission('nonsense', 'TypeError'),
    'Notification.permission': { ask: 'Notification.permission', person: 'default' },
    'Notification.requestPermission(), dismissed': {
      ask: 'Notification.requestPermission()',
      person: 'default',
    },
    'getCurrentPosition(), dismissed': {
      ask: `new Promise((done) => navigator.geolocation.getCurrentPosition(() => done('position'), (error) => done('error ' + error.code)))`,
      person: 'error 1',
    },
    'watchPosition(), dismissed': {
      ask: `new Promise((done) => navigator.geolocation.watchPosition(() => done('position'), (error) => done('error ' + error.code)))`,
      person: 'error 1',
    },
    'clipboard.readText() without a click': {
      ask: `navigator.clipboard.readText()`,
      person: 'NotAllowedError',
    },
    'clipboard.writeText() without a click': {
      ask: `navigator.clipboard.writeText('x').then(() => 'written')`,
      person: 'NotAllowedError',
    },
    'requestMIDIAccess(), dismissed': {
      ask: `navigator.requestMIDIAccess().then(() => 'access')`,
      person: 'NotAllowedError',
    },
    'IdleDetector.requestPermission() without a click': {
      ask: `IdleDetector.requestPermission()`,
      person: 'NotAllowedError',
    },
  },
  Storage: {
    localStorage: { ask: `(localStorage.probe = '1', localStorage.probe)`, person: '1' },
    sessionStorage: { ask: `(sessionStorage.probe = '1', sessionStorage.probe)`, person: '1' },
    'document.cookie': {
      ask: `(document.cookie = 'probe=1', /probe=1/.test(document.cookie))`,
      person: 'true',
    },
    'cookieStore.get()': {
      ask: `cookieStore.set('probe2', '2').then(() => cookieStore.get('probe2')).then((c) => c.value)`,
      person: '2',
    },
    'an IndexedDB': {
      ask: `new Promise((done) => { const opened = indexedDB.open('probe'); opened.onsuccess = () => done('open'); opened.onerror = () => done('error') })`,
      person: 'open',
    },
    'a cache': {
      ask: `caches.open('probe').then((c) => c.put('/x', new Response('y')).then(() => c.match('/x'))).then((r) => r.text())`,
      person: 'y',
    },
    'a private file': {
      ask: `navigator.storage.getDirectory().then((d) => d.getFileHandle('probe', { create: true })).then((f) => f.kind)`,
      person: 'file',
    },
    'storage.estimate() of more than a gigabyte': {
      ask: `navigator.storage.estimate().then(({ quota }) => quota > 2 ** 30)`,
      person: 'true',
    },
    'storage.persisted()': { ask: `navigator.storage.persisted()`, person: 'false' },
    'storage.persist()': { ask: `navigator.storage.persist()`, person: 'false' },
    'navigator.storageBuckets': {
      ask: 'typeof navigator.storageBuckets',
      person: 'object',
      why: 'Chromium does not wipe their names between renders; Firefox and Safari have none',
    },
    'document.hasStorageAccess()': { ask: `document.hasStorageAccess()`, person: 'true' },
    'navigator.locks': { ask: `navigator.locks.request('probe', () => 'held')`, person: 'held' },
    'a BroadcastChannel': {
      ask: `new Promise((done) => { const a = new BroadcastChannel('p'); const b = new BroadcastChannel('p'); b.onmessage = ({ data }) => done(data); a.postMessage('heard') })`,
      person: 'heard',
    },
  },
  Network: {
    'navigator.connection.effectiveType': { ask: 'navigator.connection.effectiveType', person: '4g' },
    'navigator.connection.saveData': { ask: 'navigator.connection.saveData', person: 'false' },
    'navigator.connection.downlink above 1': { ask: 'navigator.connection.downlink > 1', person: 'true' },
    'navigator.connection.rtt below 300': { ask: 'navigator.connection.rtt < 300', person: 'true' },
    'navigator.sendBeacon()': { ask: `navigator.sendBeacon('/beacon', 'x')`, person: 'true' },
    'serviceWorker.ready after register()': {
      ask: `navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then((r) => r.active.state.startsWith('activat'))`,
      person: 'true',
    },
    'serviceWorker.controller at the first visit': {
      ask: 'navigator.serviceWorker.controller',
      person: 'null',
    },
    PushManager: kind('PushManager'),
    BackgroundFetchManager: kind('BackgroundFetchManager'),
    EventSource: kind('EventSource'),
    WebSocket: kind('WebSocket'),
    fetchLater: kind('fetchLater'),
  },
  Drawing: {
    'a 2d context': { ask: `document.createElement('canvas').getContext('2d') !== null`, person: 'true' },
    'a canvas holds what was drawn': {
      ask: `(() => { const c = document.createElement('canvas'); const x = c.getContext('2d'); x.fillStyle = '#102030'; x.fillRect(0, 0, 2, 2); return [...x.getImageData(0, 0, 1, 1).data].join() })()`,
      person: '16,32,48,255',
    },
    'canvas.toDataURL() of WebP': {
      ask: `document.createElement('canvas').toDataURL('image/webp').slice(5, 15)`,
      person: 'image/webp',
    },
    'a WebGL context': {
      ask: `document.createElement('canvas').getContext('webgl') !== null`,
      person: 'true',
    },
    'a WebGL 2 context': {
      ask: `document.createElement('canvas').getContext('webgl2') !== null`,
      person: 'true',
    },
    'textures of 4096 in WebGL': {
      ask: `(() => { const gl = document.createElement('canvas').getContext('webgl'); return gl.getParameter(gl.MAX_TEXTURE_SIZE) >= 4096 })()`,
      person: 'true',
    },
    'a WebGL context without a caveat': {
      ask: `document.createElement('canvas').getContext('webgl', { failIfMajorPerformanceCaveat: true }) !== null`,
      person: 'true',
    },
    'navigator.gpu.requestAdapter()': {
      ask: `navigator.gpu === undefined ? 'undefined' : navigator.gpu.requestAdapter().then((a) => a === null ? 'null' : 'adapter')`,
      person: 'adapter',
      why: 'there is no graphics card; the same on machines without one',
    },
    'an OffscreenCanvas': { ask: `new OffscreenCanvas(1, 1).getContext('2d') !== null`, person: 'true' },
    'createImageBitmap()': {
      ask: `createImageBitmap(new ImageData(3, 2)).then((b) => b.width)`,
      person: '3',
    },
    requestAnimationFrame: {
      ask: `new Promise((done) => requestAnimationFrame((t) => done(typeof t)))`,
      person: 'number',
    },
    requestIdleCallback: {
      ask: `new Promise((done) => requestIdleCallback((d) => done(d.timeRemaining() > 0)))`,
      person: 'true',
    },
    IntersectionObserver: {
      ask: `new Promise((done) => new IntersectionObserver((seen) => done(seen[0].isIntersecting)).observe(document.documentElement))`,
      person: 'true',
    },
    ResizeObserver: {
      ask: `new Promise((done) => new ResizeObserver((seen) => done(seen[0].contentRect.width > 0)).observe(document.documentElement))`,
      person: 'true',
    },
    'an animation ends': {
      ask: `document.documentElement.animate([{ opacity: 1 }, { opacity: 1 }], 200).finished.then(() => 'finished')`,
      person: 'finished',
    },
    'a view transition ends': {
      ask: `document.startViewTransition(() => {}).finished.then(() => 'finished')`,
      person: 'finished',
    },
    'the code of requestAnimationFrame is not shown': {
      ask: `/\\[native code\\]/.test(Function.prototype.toString.call(requestAnimationFrame))`,
      person: 'true',
    },
    'the code of IntersectionObserver is not shown': {
      ask: `/\\[native code\\]/.test(Function.prototype.toString.call(IntersectionObserver))`,
      person: 'true',
    },
    'the code of fetch is not shown': {
      ask: `/\\[native code\\]/.test(Function.prototype.toString.call(fetch))`,
      person: 'true',
    },
  },
  'Devices and sensors': {
    'getBattery()': {
      ask: `navigator.getBattery().then((b) => b.charging + ' ' + b.level)`,
      person: 'true 1',
    },
    'wakeLock.request()': {
      ask: `navigator.wakeLock.request('screen').then((lock) => lock.type)`,
      person: 'screen',
    },
    'navigator.share (Windows, macOS)': {
      ask: 'typeof navigator.share',
      person: 'function',
      why: 'as on a Linux desktop',
    },
    'navigator.canShare (Windows, macOS)': {
      ask: 'typeof navigator.canShare',
      person: 'function',
      why: 'as on a Linux desktop',
    },
    'navigator.share() without a click': {
      ask: `navigator.share === undefined ? 'undefined' : navigator.share({ url: '/' })`,
      person: 'NotAllowedError',
      why: 'as on a Linux desktop',
    },
    'navigator.vibrate()': { ask: 'navigator.vibrate(10)', person: 'false' },
    'getGamepads() without one': {
      ask: `navigator.getGamepads().every((pad) => pad === null)`,
      person: 'true',
    },
    'ontouchstart in window': { ask: `'ontouchstart' in window`, person: 'false' },
    DeviceOrientationEvent: kind('DeviceOrientationEvent'),
    DeviceMotionEvent: kind('DeviceMotionEvent'),
    'an Accelerometer on a desktop': {
      ask: `new Promise((done) => { const s = new Accelerometer(); s.onerror = ({ error }) => done(error.name); s.onreading = () => done('reading'); s.start() })`,
      person: 'NotReadableError',
      why: 'the browser denies it; pages handle both errors alike',
    },
    'bluetooth.getAvailability()': {
      ask: `navigator.bluetooth === undefined ? 'undefined' : navigator.bluetooth.getAvailability()`,
      person: 'true',
      why: 'as on a Linux desktop',
    },
    'usb.getDevices()': { ask: `navigator.usb.getDevices().then((d) => d.length)`, person: '0' },
    'hid.getDevices()': { ask: `navigator.hid.getDevices().then((d) => d.length)`, person: '0' },
    'serial.getPorts()': { ask: `navigator.serial.getPorts().then((d) => d.length)`, person: '0' },
    'xr.isSessionSupported()': {
      ask: `navigator.xr === undefined ? 'undefined' : navigator.xr.isSessionSupported('immersive-vr')`,
      person: 'false',
    },
    'keyboard.getLayoutMap()': {
      ask: `navigator.keyboard.getLayoutMap().then((map) => map.get('KeyA') ?? 'none')`,
      person: 'a',
    },
    'getInstalledRelatedApps()': {
      ask: `navigator.getInstalledRelatedApps().then((apps) => apps.length)`,
      person: '0',
    },
    'navigator.contacts': kind('navigator.contacts', 'undefined'),
    NDEFReader: kind('NDEFReader', 'undefined'),
    EyeDropper: kind('EyeDropper'),
    showOpenFilePicker: kind('showOpenFilePicker'),
    'showOpenFilePicker() without a click': {
      ask: `showOpenFilePicker().then(() => 'file')`,
      person: 'SecurityError',
    },
  },
  'Paying and signing in': {
    PaymentRequest: kind('PaymentRequest'),
    'PaymentRequest.canMakePayment() of a card form': {
      ask: `new PaymentRequest([{ supportedMethods: 'https://pay.example/method' }], { total: { label: 'x', amount: { currency: 'EUR', value: '1' } } }).canMakePayment()`,
      person: 'false',
    },
    'a platform authenticator': {
      ask: `PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable()`,
      person: 'true',
      why: 'as on a machine without one',
    },
    'conditional mediation': { ask: `PublicKeyCredential.isConditionalMediationAvailable()`, person: 'true' },
    'credentials.get() of a password, silently': {
      ask: `navigator.credentials.get({ password: true, mediation: 'silent' })`,
      person: 'null',
    },
    IdentityCredential: kind('IdentityCredential'),
  },
  'Languages and dates': {
    'the time zone': {
      ask: 'Intl.DateTimeFormat().resolvedOptions().timeZone',
      person: 'Europe/Berlin',
      why: '`settings.render.time_zone` sets it',
    },
    'the locale': { ask: 'Intl.DateTimeFormat().resolvedOptions().locale', person: 'en-US' },
    'names of languages in German': {
      ask: `new Intl.DisplayNames(['de'], { type: 'language' }).of('fr')`,
      person: 'Französisch',
    },
    'a date in Japanese': {
      ask: `new Date(0).toLocaleDateString('ja-JP', { dateStyle: 'long', timeZone: 'UTC' })`,
      person: '1970年1月1日',
    },
    'a price in Hindi': {
      ask: `(1234567.8).toLocaleString('hi-IN', { style: 'currency', currency: 'INR' })`,
      person: '₹12,34,567.80',
    },
    'plural rules of Polish': { ask: `new Intl.PluralRules('pl').select(3)`, person: 'few' },
    'a relative time in Spanish': {
      ask: `new Intl.RelativeTimeFormat('es').format(-1, 'day')`,
      person: 'hace 1 día',
    },
    'a list in French': { ask: `new Intl.ListFormat('fr').format(['a', 'b'])`, person: 'a et b' },
    'words of Thai': {
      ask: `[...new Intl.Segmenter('th', { granularity: 'word' }).segment('สวัสดีครับ')].length > 1`,
      person: 'true',
    },
    'collation of Swedish': {
      ask: `['z', 'ö', 'a'].sort(new Intl.Collator('sv').compare).join('')`,
      person: 'azö',
    },
    'more than 400 time zones': { ask: `Intl.supportedValuesOf('timeZone').length > 400`, person: 'true' },
    'a date in New York': {
      ask: `new Date(Date.UTC(2024, 6, 1)).toLocaleString('en-US', { timeZone: 'America/New_York', timeZoneName: 'short' }).slice(-3)`,
      person: 'EDT',
    },
    Temporal: kind('Temporal', 'object'),
  },
  Performance: {
    'navigation entries': {
      ask: `performance.getEntriesByType('navigation').map((e) => e.type).join()`,
      person: 'navigate',
    },
    'nextHopProtocol of the page': {
      ask: `performance.getEntriesByType('navigation')[0].nextHopProtocol`,
      person: 'h2',
    },
    'responseStatus of the page': {
      ask: `performance.getEntriesByType('navigation')[0].responseStatus`,
      person: '200',
    },
    'transferSize of the page above 0': {
      ask: `performance.getEntriesByType('navigation')[0].transferSize > 0`,
      person: 'true',
    },
    'resource entries': {
      ask: `fetch('/probe.json').then((r) => r.text()).then(() => performance.getEntriesByType('resource').some((e) => e.name.endsWith('/probe.json')))`,
      person: 'true',
    },
    'first-contentful-paint': {
      ask: `new Promise((done) => { new PerformanceObserver((list) => { for (const e of list.getEntries()) if (e.name === 'first-contentful-paint') done('seen') }).observe({ type: 'paint', buffered: true }); setTimeout(done, 2000, 'none') })`,
      person: 'seen',
    },
    'largest-contentful-paint': {
      ask: `new Promise((done) => { new PerformanceObserver(() => done('seen')).observe({ type: 'largest-contentful-paint', buffered: true }); setTimeout(done, 2000, 'none') })`,
      person: 'seen',
    },
    'PerformanceObserver.supportedEntryTypes has paint': {
      ask: `PerformanceObserver.supportedEntryTypes.includes('paint')`,
      person: 'true',
    },
    'marks and measures': {
      ask: `(performance.mark('p'), performance.measure('m', 'p').entryType)`,
      person: 'measure',
    },
    'performance.memory': kind('performance.memory', 'object'),
    'performance.timing.loadEventEnd after the load': {
      ask: `new Promise((done) => { const look = () => setTimeout(() => done(performance.timing.loadEventEnd > 0), 300); document.readyState === 'complete' ? look() : addEventListener('load', look) })`,
      person: 'true',
    },
    'Date and performance.now() agree within a second': {
      ask: `Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000`,
      person: 'true',
    },
    'scheduler.postTask()': { ask: `scheduler.postTask(() => 'run')`, person: 'run' },
    'a timer of 100 ms takes about that': {
      ask: `(() => { const t = performance.now(); return new Promise((done) => setTimeout(() => { const ms = performance.now() - t; done(ms >= 99 && ms < 400) }, 100)) })()`,
      person: 'true',
    },
    'crypto.randomUUID() twice': { ask: `crypto.randomUUID() !== crypto.randomUUID()`, person: 'true' },
    'Math.random() twice': { ask: `Math.random() !== Math.random()`, person: 'true' },
  },
}
