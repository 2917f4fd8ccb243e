/**
 * The gateway with the browser that it is for, without the renderer: nothing but
 * Chromium's flags and this proxy stand between a hostile page and the canary.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import dgram from 'node:dgram'
import { once } from 'node:events'
import type http from 'node:http'
import { describe, it } from 'node:test'

import { CUSTOM_DOMAIN } from '../../test/support/gateway.ts'
import { html, openTestPage } from '../../test/support/gateway-page.ts'
import { type Canary, hostileHeaders, hostilePage } from '../../test/support/hostile-page.ts'

describe('Chromium behind the gateway', () => {
  it('sees the custom domain over HTTP/2, and what it asks for comes from the origin', async (t) => {
    const { evaluate } = await openTestPage(t, {
      '/': html('<script>document.cookie = "a=1"</script>'),
      '/data': (request) => JSON.stringify({ host: request.headers.host, cookie: request.headers.cookie }),
    })
    const seen = await evaluate(`
      const data = await (await fetch('/data')).json()
      const [entry] = performance.getEntriesByType('navigation')
      return [location.href, isSecureContext, entry.nextHopProtocol, data.cookie]`)
    assert.deepEqual(seen, [`https://${CUSTOM_DOMAIN}/`, true, 'h2', 'a=1'])
  })

  it('goes on although more requests hang than Chromium has connections', async (t) => {
    const { evaluate } = await openTestPage(t, {
      '/': html(''),
      '/hung': (_request, response) =>
        void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
      '/data': () => 'data',
    })
    const seen = await evaluate(`
      const hung = Array.from({ length: 20 }, () => new EventSource('/hung'))
      await Promise.all(hung.map((source) => new Promise((open) => { source.onopen = open })))
      return (await fetch('/data')).text()`)
    assert.equal(seen, 'data')
  })

  it('opens WebSockets to the custom domain', async (t) => {
    const { evaluate, tested } = await openTestPage(t, { '/': html('') })
    tested.origin.on('upgrade', (request: http.IncomingMessage, socket) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`)
      socket.write(`Sec-WebSocket-Accept: ${acceptOf(request.headers['sec-websocket-key'] ?? '')}\r\n\r\n`)
      socket.write(Buffer.from([0x81, 2, 0x68, 0x69]))
    })
    const seen = await evaluate(`
      const socket = new WebSocket('wss://' + location.host + '/ws')
      return new Promise((heard, lost) => {
        socket.onmessage = ({ data }) => heard(data)
        socket.onerror = () => lost(new Error('no WebSocket'))
      })`)
    assert.equal(seen, 'hi')
  })

  it('shows a fault of the origin with the mark of the gateway', async (t) => {
    const { evaluate } = await openTestPage(t, {
      '/': html(''),
      '/garbage': (request) => void request.socket.end('nonsense'),
    })
    const seen = await evaluate(`
      const answer = await fetch('/garbage')
      return [answer.status, answer.headers.get('x-prepaint-gateway')]`)
    assert.deepEqual(seen, [502, 'broken-response'])
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
    // What made it end the browser, see navigation-races.test.ts.
    assert.equal(await hostsMade(), 0)
    // The positive half: the page does reach what it may.
    assert.equal(await evaluate(`return (await fetch('/ok')).text()`), 'ok')
    assert.equal(await canReach(), true)
  })
})

function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}
