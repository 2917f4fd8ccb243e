/**
 * The gateway with the browser that it is for, without the renderer: nothing but
 * Chromium's flags and this proxy stand between a hostile page and the canary.
 */
import assert from 'node:assert/strict'
import dgram from 'node:dgram'
import { once } from 'node:events'
import type http from 'node:http'
import { after, beforeEach, describe, it } from 'node:test'
import { speakWebSocket } from '../../test/render/web-socket.ts'
import { CUSTOM_DOMAIN } from '../../test/support/gateway.ts'
import { type Answer, html, openTestPage } from '../../test/support/gateway-page.ts'
import { type Canary, hostileHeaders, hostilePage } from '../../test/support/hostile-page.ts'

const page = await openTestPage(
  { after },
  {
    '/': html('page'),
    '/ok': html('ok'),
    '/data': ({ headers }) => JSON.stringify({ host: headers.host, cookie: headers.cookie }),
    '/hung': (_request, response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
    '/garbage': (request) => void request.socket.end('nonsense'),
    '/apart': (request, response) => {
      response.setHeader('content-type', 'text/html')
      response.setHeader('cross-origin-opener-policy', 'same-origin')
      return html('apart')(request, response)
    },
  },
)

describe('Chromium behind the gateway', () => {
  beforeEach(() => page.visit('/'))

  it('sees the custom domain over HTTP/2, and what it asks for comes from the origin', async () => {
    const seen = await page.evaluate(`
      document.cookie = 'a=1'
      const data = await (await fetch('/data')).json()
      const [entry] = performance.getEntriesByType('navigation')
      return [location.href, isSecureContext, entry.nextHopProtocol, data.cookie]`)
    assert.deepEqual(seen, [`https://${CUSTOM_DOMAIN}/`, true, 'h2', 'a=1'])
  })

  it('goes on although more requests hang than Chromium has connections', async () => {
    const seen = await page.evaluate(`
      const hung = Array.from({ length: 20 }, () => new EventSource('/hung'))
      await Promise.all(hung.map((source) => new Promise((open) => { source.onopen = open })))
      return (await fetch('/ok')).status`)
    assert.equal(seen, 200)
  })

  it('opens WebSockets to the custom domain', async () => {
    page.tested.origin.on('upgrade', (request: http.IncomingMessage, socket) =>
      speakWebSocket(request, socket, (_heard, say) => say('hi')),
    )
    const seen = await page.evaluate(`
      const socket = new WebSocket('wss://' + location.host + '/ws')
      return new Promise((heard, lost) => {
        socket.onmessage = ({ data }) => heard(data)
        socket.onerror = () => lost(new Error('no WebSocket'))
      })`)
    assert.equal(seen, 'hi')
  })

  it('shows a fault of the origin with the mark of the gateway', async () => {
    const seen = await page.evaluate(`
      const answer = await fetch('/garbage')
      return [answer.status, answer.headers.get('x-prepaint-gateway')]`)
    assert.deepEqual(seen, [502, 'broken-response'])
  })

  // A navigation that Chromium refuses ended the browser when its frame had a second host (docs/decisions/0020-navigation-races.md).
  it('frames keep their host, wherever they go', async () => {
    const before = await page.hostsMade()
    const went = await page.evaluate(`
      const to = ['data:text/html,x', 'http://127.0.0.1:${page.tested.originPort}/ok', '/ok', 'about:blank', 'https://other.example/']
      for (const sandbox of [null, 'allow-scripts', '']) {
        const frame = document.createElement('iframe')
        if (sandbox !== null) frame.sandbox = sandbox
        document.body.append(frame)
        for (const url of [...to, ...to.reverse()]) {
          await new Promise((loaded) => { frame.onload = loaded; frame.src = url })
        }
      }
      return document.querySelectorAll('iframe').length`)
    assert.equal(went, 3)
    assert.equal(await page.hostsMade(), before)
    // The other half: where a host is made, it is counted.
    await page.visit('/apart')
    assert((await page.hostsMade()) > before)
  })

  it('a hostile page reaches the canary in none of its ways', async (t) => {
    const udp = dgram.createSocket('udp4')
    let datagrams = 0
    udp.on('message', () => {
      datagrams += 1
    })
    udp.bind(0, '0.0.0.0')
    await once(udp, 'listening')
    t.after(() => udp.close())

    const canary: Canary = { port: 0, samePort: 0, udpPort: udp.address().port }
    const { evaluate, tested, canReach, hostsMade } = await openTestPage(
      t,
      {
        '/': (_request, response) => {
          for (const [name, value] of Object.entries(hostileHeaders(canary))) response.setHeader(name, value)
          return hostilePage(canary)
        },
        '/redirect': (request, response) => {
          const to = new URL(request.url ?? '', 'http://x').searchParams.get('to') ?? ''
          response.writeHead(302, { location: to }).end()
        },
        '/ok': () => 'ok',
        '/worker.js': (_request, response) => {
          response.setHeader('content-type', 'text/javascript')
          return 'onmessage = async ({ data }) => { for (const url of data) { try { importScripts(url) } catch {} await fetch(url, { mode: "no-cors" }).catch(() => {}); try { new WebSocket(url.replace("http", "ws")) } catch {} } postMessage("done") }'
        },
      },
      (tested) => {
        canary.port = tested.canary.port
        canary.samePort = tested.originPort
      },
    )
    const ways = await evaluate('return hostile()')
    assert.equal(tested.canary.connections, 0)
    assert.equal(datagrams, 0)
    assert(Array.isArray(ways) && ways.length >= 75, `only ${JSON.stringify(ways)}`)
    assert(tested.site.takeCounts().refused > 20)
    // A second host would let it end the browser.
    assert.equal(await hostsMade(), 0)
    // The positive half: the page does reach what it may.
    assert.equal(await evaluate(`return (await fetch('/ok')).text()`), 'ok')
    assert.equal(await canReach(), true)
  })

  it("an owner's headers for the origin follow no redirect to another host and no request of a service worker there", async (t) => {
    const heard: { isOwn: boolean; url: string; hasSecret: boolean }[] = []
    // With the dot it is another host, at the address and port of the origin.
    const other = () => `http://origin.localhost.:${tested.originPort}/landed`
    const javascript = (text: () => string): Answer => {
      return (_request, response) => {
        response.setHeader('content-type', 'text/javascript')
        return text()
      }
    }
    const away: Answer = ({ url = '' }, response) =>
      void response.writeHead(302, { location: other() + url.slice(url.indexOf('?')) }).end()
    const { evaluate, visit, tested } = await openTestPage(
      t,
      {
        ...{ '/': html('page'), '/away': away, '/landed': () => 'landed', '/own': () => 'own' },
        '/worker.js': javascript(
          () => `onfetch = (event) => {
            if (event.request.url.endsWith('/by-worker')) event.respondWith(Promise.all(
              ['/own?worker', '/away?worker', '${other()}?of-worker'].map((url) => fetch(url, { mode: 'no-cors' })),
            ).then(() => new Response('done')))
          }
          oninstall = () => skipWaiting()
          onactivate = (event) => event.waitUntil(clients.claim())`,
        ),
      },
      ({ origin }) =>
        origin.on('request', ({ url = '', headers }: http.IncomingMessage) => {
          const isOwn = headers['x-forwarded-host'] === CUSTOM_DOMAIN
          heard.push({ isOwn, url, hasSecret: JSON.stringify(headers).includes('of-the-owner') })
        }),
      {
        ...{ originHost: 'origin.localhost', lookup: async () => ['127.0.0.1'] },
        originHeaders: ['X-Secret', 'of-the-owner'],
      },
    )
    await evaluate(`
      const loaded = (tag, src) => new Promise((done) => {
        const element = document.createElement(tag)
        element.onload = element.onerror = done
        element.src = src
        document.body.append(element)
      })
      await Promise.all([
        fetch('/away?fetch', { mode: 'no-cors' }),
        ...['script', 'iframe'].map((tag) => loaded(tag, '/away?' + tag)),
      ])
      const controlled = new Promise((done) => { navigator.serviceWorker.oncontrollerchange = done })
      await navigator.serviceWorker.register('/worker.js')
      await controlled
      await fetch('/by-worker')`)
    await visit('/away?document')
    const urls = (isOwn: boolean) => heard.filter((each) => each.isOwn === isOwn).map(({ url }) => url)
    for (const kind of ['fetch', 'script', 'iframe', 'document', 'worker', 'of-worker'])
      assert(urls(false).includes(`/landed?${kind}`), `${kind}: ${urls(false)}`)
    for (const url of ['/', '/away?document', '/worker.js', '/own?worker', '/away?worker'])
      assert(urls(true).includes(url), `${url}: ${urls(true)}`)
    assert.deepEqual(
      heard.filter(({ isOwn, hasSecret }) => isOwn !== hasSecret),
      [],
    )
  })
})
