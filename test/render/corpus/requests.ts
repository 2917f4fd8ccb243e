import type { Socket } from 'node:net'

import { type Answer, scripted } from '../../support/renderer.ts'
import { json, never, page, type Theme } from '../corpus-page.ts'

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
    document: scripted`const rest = (ms) => new Promise((r) => setTimeout(r, ms)); (async () => {
          for (let n = 0; n < 4; n++) { await rest(900); await (await fetch('part.json?' + n)).json() } show('four rounds') })()`,
    parts: { 'part.json': json({}, 60) },
    expect: { reads: ['four rounds'] },
  },
  'an answer that takes as long as a render may': {
    limit: true,
    document: scripted`show('shell'); fetch('hung.json').then((r) => r.json()).then(({ text }) => show(text))`,
    parts: { 'hung.json': never },
    expect: { reads: ['shell'] },
  },
  'a request given up after three seconds': {
    document: scripted`fetch('dead', { signal: AbortSignal.timeout(3000) }).catch(() => show('from the cache'))`,
    parts: { dead: never },
    expect: { reads: ['from the cache'] },
  },
  'beacons without an answer': {
    document: scripted`navigator.sendBeacon('seen', 'x'); fetch('seen', { method: 'POST', keepalive: true, body: 'x' }).catch(() => {}); setTimeout(() => show('content'), 1000)`,
    parts: { seen: never },
    expect: { reads: ['content'] },
  },
  'a style sheet that never comes': {
    document: page`<link rel="stylesheet" href="never.css"><p id="out">shell</p><script>out.textContent = 'after the sheet'</script>`,
    parts: { 'never.css': never },
    expect: { outcome: 'blank' },
  },
  'an API of another origin that is asked first': {
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
}
