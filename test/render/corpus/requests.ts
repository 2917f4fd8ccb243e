import type { Socket } from 'node:net'

import { type Answer, scripted } from '../../support/renderer.ts'
import { json, never, page, script, status, type Theme } from '../corpus-page.ts'

/** Connections that have had their one answer. */
const spent = new WeakSet<Socket>()

/** Lets anybody ask, and says what it was asked: once on each connection, which breaks when it is used again. */
const shortApi: Answer = async (request, response) => {
  if (spent.has(request.socket)) return void request.socket.resetAndDestroy()
  spent.add(request.socket)
  let body = ''
  for await (const chunk of request) body += ` ${chunk}`
  const allow = { origin: '*', methods: '*', headers: 'x-client' }
  for (const [name, value] of Object.entries(allow)) response.setHeader(`access-control-allow-${name}`, value)
  response.end(request.method + body)
}

/** Content that comes by requests, one after the other, late, or not at all. */
export const requests: Theme = {
  'requests and timers in turns': {
    why: 'The clock must stand for each request, and run for each timer.',
    document: scripted`const rest = (ms) => new Promise((r) => setTimeout(r, ms)); (async () => {
          for (let n = 0; n < 4; n++) { await rest(900); await (await fetch('part.json?' + n)).json() } show('four rounds') })()`,
    parts: { 'part.json': json({}, 60) },
    expect: { reads: ['four rounds'] },
  },
  'an answer that takes as long as a render may': {
    why: 'At some time a page has to be taken as it is.',
    limit: true,
    document: scripted`show('shell'); fetch('hung.json').then((r) => r.json()).then(({ text }) => show(text))`,
    parts: { 'hung.json': never },
    expect: { reads: ['shell'] },
  },
  'XMLHttpRequest, asynchronous and synchronous': {
    why: 'A synchronous one blocks the page while its clock stands.',
    document: scripted`const now = new XMLHttpRequest(); now.open('GET', 'a.json', false); now.send(); show(JSON.parse(now.responseText).text)
          const later = new XMLHttpRequest(); later.responseType = 'json'; later.open('GET', 'b.json')
          later.onload = () => show(later.response.text); later.send()`,
    parts: { 'a.json': json({ text: 'came at once' }), 'b.json': json({ text: 'came later' }) },
    expect: { reads: ['came at once', 'came later'] },
  },
  'a post with a body': {
    why: 'GraphQL and search ask by POST; the body has to arrive whole.',
    document: scripted`fetch('graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query: '{ harbour }' }) })
          .then((r) => r.json()).then(({ asked }) => show('asked ' + asked.query))`,
    parts: {
      graphql: (request, response) => {
        let body = ''
        request.on('data', (part) => (body += part))
        request.on('end', () =>
          response.setHeader('content-type', 'application/json').end(`{"asked":${body}}`),
        )
      },
    },
    expect: { reads: ['asked { harbour }'] },
  },
  'a request given up after three seconds': {
    why: "The page's own timeout shows what it has instead; its clock must not stand for ever.",
    document: scripted`fetch('dead', { signal: AbortSignal.timeout(3000) }).catch(() => show('from the cache'))`,
    parts: { dead: never },
    expect: { reads: ['from the cache'] },
  },
  'beacons without an answer': {
    why: 'They count visits, they bring nothing, and hold nothing.',
    document: scripted`navigator.sendBeacon('seen', 'x'); fetch('seen', { method: 'POST', keepalive: true, body: 'x' }).catch(() => {}); setTimeout(() => show('content'), 1000)`,
    parts: { seen: never },
    expect: { reads: ['content'] },
  },
  JSONP: {
    why: 'Data that comes as a script put in late.',
    document: scripted`window.take = ({ text }) => show(text); const s = document.createElement('script'); s.src = 'jsonp.js?cb=take'; document.head.append(s)`,
    parts: { 'jsonp.js': script(`take({ text: 'by callback' })`, 50) },
    expect: { reads: ['by callback'], hasNot: ['jsonp.js'] },
  },
  'retries with back-off': {
    why: 'Two failures and growing pauses before the content.',
    document: scripted`(async () => { for (let n = 0; n < 4; n++) { const r = await fetch('shaky.json?try=' + n)
          if (r.ok) return show('at try ' + n); await new Promise((done) => setTimeout(done, 300 * 2 ** n)) } })()`,
    parts: { 'shaky.json?try=0': status(503), 'shaky.json?try=1': status(503), 'shaky.json': json({}) },
    expect: { reads: ['at try 2'] },
  },
  'an API that redirects': {
    why: 'A redirect of a part is no redirect of the page.',
    document: scripted`fetch('old.json').then((r) => r.json()).then(({ text }) => show(text))`,
    parts: {
      'old.json': status(302, { location: 'new.json' }),
      'new.json': json({ text: 'moved data' }),
    },
    expect: { reads: ['moved data'] },
  },
  'a script of a private address': {
    why: 'The gateway refuses it; the page goes on as for a visitor whose blocker does.',
    document: page`<p id="out">waiting</p><script src="http://169.254.169.254/x.js" onerror="out.textContent = 'without it'"></script>`,
    expect: { reads: ['without it'] },
  },
  'analytics that are not fetched': {
    why: 'Scripts that wait for a blocked script must be told that it failed.',
    document: scripted`const s = document.createElement('script'); s.src = 'https://www.google-analytics.com/analytics.js'
          s.onload = s.onerror = ({ type }) => show('analytics ' + type); document.head.append(s)`,
    expect: { reads: ['analytics error'] },
  },
  'a style sheet that never comes': {
    why: 'Neither text nor scripts are shown before it: people see a white page too, which is not kept.',
    document: page`<link rel="stylesheet" href="never.css"><p id="out">shell</p><script>out.textContent = 'after the sheet'</script>`,
    parts: { 'never.css': never },
    expect: { outcome: 'blank' },
  },
  'an API of another origin that is asked first': {
    why: 'Each request is preceded by a preflight, and the API closes its connections between the two.',
    visits: 4,
    document: (request, response) =>
      void response.setHeader('content-type', 'text/html').end(
        scripted`const ask = (path, options) => fetch('http://127.0.0.1:${request.socket.localPort}' + location.pathname + path, { headers: { 'x-client': 'shop' }, ...options }).then((r) => r.text()).then(show, (error) => show(path + ' ' + error))
              ask('read').then(() => ask('write', { method: 'POST', body: 'kettles' }).then(() => ask('remove', { method: 'DELETE' })))`,
      ),
    parts: { read: shortApi, write: shortApi, remove: shortApi },
    expect: { reads: ['GET', 'POST kettles', 'DELETE'] },
  },
  'a frame of another origin': {
    why: 'A payment or video frame: it speaks by messages, and its process must not need a clock of its own.',
    document: (request, response) =>
      void response.setHeader('content-type', 'text/html').end(
        page`<p id="out">waiting</p><script>addEventListener('message', ({ data }) => { out.textContent = data })
              const frame = document.createElement('iframe'); frame.src = 'http://127.0.0.1:${request.socket.localPort}' + location.pathname + 'other'; document.body.append(frame)</script>`,
      ),
    parts: {
      other: `<script>setTimeout(() => parent.postMessage('said from elsewhere', '*'), 1500)</script>`,
    },
    expect: { reads: ['said from elsewhere'] },
  },
  'a frame within which all comes late': {
    why: 'Requests of frames hold the page like its own.',
    document: page`<p id="out">waiting</p><iframe src="inner"></iframe><script>addEventListener('message', ({ data }) => { out.textContent = data })</script>`,
    parts: {
      inner: `<script>fetch('frame.json').then((r) => r.json()).then(({ text }) => parent.postMessage(text, '*'))</script>`,
      'frame.json': json({ text: 'said by the frame' }, 200),
    },
    expect: { reads: ['said by the frame'], has: ['<iframe src="inner">'] },
  },
}
