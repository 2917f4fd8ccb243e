import type { Socket } from 'node:net'

import { type Answer, scripted } from '../../support/renderer.ts'
import { cutOff, html, json, never, page, script, status, type Theme } from '../corpus-page.ts'

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
  name: 'requests',
  pages: [
    {
      name: 'a chain of six requests',
      why: 'Between two of them the network is quiet.',
      routes: {
        '': scripted(`(async () => { let next = 'link.json?n=0', n = 0
          while (n < 6) n = (await (await fetch('link.json?n=' + n)).json()).next; show('link ' + n) })()`),
        'link.json': (request, response) => {
          const n = Number(new URL(request.url ?? '', 'http://o').searchParams.get('n'))
          setTimeout(
            () => response.setHeader('content-type', 'application/json').end(`{"next":${n + 1}}`),
            40,
          )
        },
      },
      expect: { reads: ['link 6'] },
    },
    {
      name: 'requests and timers in turns',
      why: 'The clock must stand for each request, and run for each timer.',
      routes: {
        '': scripted(`const rest = (ms) => new Promise((r) => setTimeout(r, ms)); (async () => {
          for (let n = 0; n < 4; n++) { await rest(900); await (await fetch('part.json?' + n)).json() } show('four rounds') })()`),
        'part.json': json({}, 60),
      },
      expect: { reads: ['four rounds'] },
    },
    {
      name: 'an answer that takes two seconds',
      why: 'Slow back ends are real; the page without their answer is half a page.',
      routes: {
        '': scripted(`fetch('slow.json').then((r) => r.json()).then(({ text }) => show(text))`),
        'slow.json': json({ text: 'worth waiting for' }, 2_000),
      },
      expect: { reads: ['worth waiting for'] },
    },
    {
      name: 'an answer that takes seven seconds',
      why: 'From outside it looks like a long poll.',
      routes: {
        '': scripted(
          `show('shell'); fetch('slow.json').then((r) => r.json()).then(({ text }) => show(text))`,
        ),
        'slow.json': json({ text: 'slow' }, 7_000),
      },
      expect: { reads: ['shell', 'slow'] },
    },
    {
      name: 'an answer that takes as long as a render may',
      why: 'At some time a page has to be taken as it is.',
      limit: true,
      routes: {
        '': scripted(
          `show('shell'); fetch('hung.json').then((r) => r.json()).then(({ text }) => show(text))`,
        ),
        'hung.json': never,
      },
      expect: { reads: ['shell'] },
    },
    {
      name: 'XMLHttpRequest, asynchronous and synchronous',
      why: 'A synchronous one blocks the page while its clock stands.',
      routes: {
        '': scripted(`const now = new XMLHttpRequest(); now.open('GET', 'a.json', false); now.send(); show(JSON.parse(now.responseText).text)
          const later = new XMLHttpRequest(); later.responseType = 'json'; later.open('GET', 'b.json')
          later.onload = () => show(later.response.text); later.send()`),
        'a.json': json({ text: 'came at once' }),
        'b.json': json({ text: 'came later' }),
      },
      expect: { reads: ['came at once', 'came later'] },
    },
    {
      name: 'a post with a body',
      why: 'GraphQL and search ask by POST; the body has to arrive whole.',
      routes: {
        '': scripted(`fetch('graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query: '{ harbour }' }) })
          .then((r) => r.json()).then(({ asked }) => show('asked ' + asked.query))`),
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
    {
      name: 'polling for ever',
      why: 'The network is never quiet for long.',
      routes: {
        '': scripted(
          `let n = 0; setInterval(() => fetch('poll.json').then((r) => r.json()).then(() => { if (++n === 5) show('poll ' + n) }), 500)`,
        ),
        'poll.json': json({}, 10),
      },
      expect: { reads: ['poll 5'] },
    },
    {
      name: 'a long poll beside content',
      why: 'One request is pending for as long as the page lives.',
      routes: {
        '': scripted(
          `fetch('wait'); fetch('data.json').then((r) => r.json()).then(({ text }) => setTimeout(() => show(text), 1500))`,
        ),
        wait: never,
        'data.json': json({ text: 'beside the poll' }),
      },
      expect: { reads: ['beside the poll'] },
    },
    {
      name: 'a request given up after three seconds',
      why: "The page's own timeout shows what it has instead; its clock must not stand for ever.",
      routes: {
        '': scripted(
          `fetch('dead', { signal: AbortSignal.timeout(3000) }).catch(() => show('from the cache'))`,
        ),
        dead: never,
      },
      expect: { reads: ['from the cache'] },
    },
    {
      name: 'beacons without an answer',
      why: 'They count visits, they bring nothing, and hold nothing.',
      routes: {
        '': scripted(
          `navigator.sendBeacon('seen', 'x'); fetch('seen', { method: 'POST', keepalive: true, body: 'x' }).catch(() => {}); setTimeout(() => show('content'), 1000)`,
        ),
        seen: never,
      },
      expect: { reads: ['content'] },
    },
    {
      name: 'JSONP',
      why: 'Data that comes as a script put in late.',
      routes: {
        '': scripted(
          `window.take = ({ text }) => show(text); const s = document.createElement('script'); s.src = 'jsonp.js?cb=take'; document.head.append(s)`,
        ),
        'jsonp.js': script(`take({ text: 'by callback' })`, 50),
      },
      expect: { reads: ['by callback'], hasNot: ['jsonp.js'] },
    },
    {
      name: 'parts that are 404 and 500',
      why: "Failures of parts must not become the page's status.",
      routes: {
        '': `${scripted(`Promise.all([fetch('gone.json'), fetch('broken.json')]).then((all) => show('parts ' + all.map((r) => r.status)))`)}<img src="gone.png"><script src="gone.js"></script><link rel="stylesheet" href="gone.css">`,
        'broken.json': status(500),
      },
      expect: { status: 200, reads: ['parts 404,500'] },
    },
    {
      name: 'a part whose connection is cut',
      why: 'A reverse proxy in front of the site answers 502 for it, to people too; the page is still a page.',
      routes: {
        '': scripted(`fetch('cut.json').then((r) => show('no data: ' + r.status))`),
        'cut.json': cutOff,
      },
      expect: { status: 200, reads: ['no data: 502'] },
    },
    {
      name: 'retries with back-off',
      why: 'Two failures and growing pauses before the content.',
      routes: {
        '': scripted(`(async () => { for (let n = 0; n < 4; n++) { const r = await fetch('shaky.json?try=' + n)
          if (r.ok) return show('at try ' + n); await new Promise((done) => setTimeout(done, 300 * 2 ** n)) } })()`),
        'shaky.json?try=0': status(503),
        'shaky.json?try=1': status(503),
        'shaky.json': json({}),
      },
      expect: { reads: ['at try 2'] },
    },
    {
      name: 'an API that redirects',
      why: 'A redirect of a part is no redirect of the page.',
      routes: {
        '': scripted(`fetch('old.json').then((r) => r.json()).then(({ text }) => show(text))`),
        'old.json': status(302, { location: 'new.json' }),
        'new.json': json({ text: 'moved data' }),
      },
      expect: { reads: ['moved data'] },
    },
    {
      name: 'a script of a private address',
      why: 'The gateway refuses it; the page goes on as for a visitor whose blocker does.',
      routes: {
        '': page(
          `<p id="out">waiting</p><script src="http://169.254.169.254/x.js" onerror="out.textContent = 'without it'"></script>`,
        ),
      },
      expect: { reads: ['without it'] },
    },
    {
      name: 'analytics that are not fetched',
      why: 'Scripts that wait for a blocked script must be told that it failed.',
      routes: {
        '': scripted(`const s = document.createElement('script'); s.src = 'https://www.google-analytics.com/analytics.js'
          s.onload = s.onerror = ({ type }) => show('analytics ' + type); document.head.append(s)`),
      },
      expect: { reads: ['analytics error'] },
    },
    {
      name: 'a style sheet that never comes',
      why: 'Neither text nor scripts are shown before it: people see a white page too, which is not kept.',
      routes: {
        '': page(
          `<link rel="stylesheet" href="never.css"><p id="out">shell</p><script>out.textContent = 'after the sheet'</script>`,
        ),
        'never.css': never,
      },
      expect: { outcome: 'blank' },
    },
    {
      name: 'a body read as an iterator',
      why: 'It is read piece by piece, without a call that tells of the end.',
      routes: {
        '': scripted(
          `(async () => { let text = ''; for await (const part of (await fetch('data.json')).body.pipeThrough(new TextDecoderStream())) text += part; show(JSON.parse(text).text) })()`,
        ),
        'data.json': json({ text: 'piece by piece' }),
      },
      expect: { reads: ['piece by piece'] },
    },
    {
      name: 'a body read as a stream',
      why: 'The answer has begun, but what it says comes later.',
      routes: {
        '': scripted(`(async () => { const reader = (await fetch('lines')).body.pipeThrough(new TextDecoderStream()).getReader()
          for (;;) { const { done, value } = await reader.read(); if (done) return show('end of lines'); show(value.trim()) } })()`),
        lines: (_request, response) => {
          response.writeHead(200, { 'content-type': 'application/x-ndjson' })
          let n = 0
          const timer = setInterval(() => {
            if (++n > 4) {
              clearInterval(timer)
              response.end()
            } else response.write(`line ${n}\n`)
          }, 150)
        },
      },
      expect: { reads: ['line 1', 'line 4', 'end of lines'] },
    },
    {
      name: 'a hundred requests at once',
      why: 'More than the browser has connections for.',
      routes: {
        '': scripted(
          `Promise.all(Array.from({ length: 100 }, (_, n) => fetch('item.json?' + n).then((r) => r.json()))).then((all) => show(all.length + ' items'))`,
        ),
        'item.json': json({}, 20),
      },
      expect: { reads: ['100 items'] },
    },
    {
      name: 'an API of another origin that is asked first',
      why: 'Each request is preceded by a preflight, and the API closes its connections between the two.',
      visits: 4,
      routes: {
        '': (request, response) =>
          void response.setHeader('content-type', 'text/html').end(
            scripted(`const ask = (path, options) => fetch('http://127.0.0.1:${request.socket.localPort}' + location.pathname + path, { headers: { 'x-client': 'shop' }, ...options }).then((r) => r.text()).then(show, (error) => show(path + ' ' + error))
              ask('read').then(() => ask('write', { method: 'POST', body: 'kettles' }).then(() => ask('remove', { method: 'DELETE' })))`),
          ),
        read: shortApi,
        write: shortApi,
        remove: shortApi,
      },
      expect: { reads: ['GET', 'POST kettles', 'DELETE'] },
    },
    {
      name: 'a frame of another origin',
      why: 'A payment or video frame: it speaks by messages, and its process must not need a clock of its own.',
      routes: {
        '': (request, response) =>
          void response.setHeader('content-type', 'text/html').end(
            page(`<p id="out">waiting</p><script>addEventListener('message', ({ data }) => { out.textContent = data })
              const frame = document.createElement('iframe'); frame.src = 'http://127.0.0.1:${request.socket.localPort}' + location.pathname + 'other'; document.body.append(frame)</script>`),
          ),
        other: html(
          `<script>setTimeout(() => parent.postMessage('said from elsewhere', '*'), 1500)</script>`,
        ),
      },
      expect: { reads: ['said from elsewhere'] },
    },
    {
      name: 'a frame within which all comes late',
      why: 'Requests of frames hold the page like its own.',
      routes: {
        '': page(
          `<p id="out">waiting</p><iframe src="inner"></iframe><script>addEventListener('message', ({ data }) => { out.textContent = data })</script>`,
        ),
        inner: html(
          `<script>fetch('frame.json').then((r) => r.json()).then(({ text }) => parent.postMessage(text, '*'))</script>`,
        ),
        'frame.json': json({ text: 'said by the frame' }, 200),
      },
      expect: { reads: ['said by the frame'], has: ['<iframe src="inner">'] },
    },
  ],
}
