/**
 * The gateway with the browser that it is for, without the renderer: nothing but
 * Chromium's flags and this proxy stand between a hostile page and the canary.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import dgram from 'node:dgram'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import type http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'

import { silentLog } from '../log.ts'
import { findBrowser } from '../render/browser-binary.ts'
import { launchBrowser } from '../render/browser-process.ts'
import { CdpClosed } from '../render/cdp.ts'
import { CUSTOM_DOMAIN, startTestGateway } from './test-gateway.ts'
import { type Canary, hostileHeaders, hostilePage } from './test-hostile-page.ts'

const dataDir = await mkdtemp(path.join(tmpdir(), 'prepaint-gateway-'))
// As root the browser is another user, who must be able to pass.
await chmod(dataDir, 0o711)
const binary = await findBrowser({ chromium: null, dataDir })
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))

describe('Chromium behind the gateway', () => {
  it('sees the custom domain over HTTP/2, and what it asks for comes from the origin', async (t) => {
    const { evaluate } = await open(t, {
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
    const { evaluate } = await open(t, {
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
    const { evaluate, tested } = await open(t, { '/': html('') })
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
    const { evaluate } = await open(t, {
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

    // Something in it now and then fails a check of Chromium's own, and the browser ends. That reaches nothing
    // either; but only a page that came to its end has tried everything.
    for (let tries = 1; !(await triesAll(t, udp.address().port)); tries++) {
      assert.equal(datagrams, 0)
      assert(tries < MOST_TRIES, 'the browser ended each time')
    }
    assert.equal(datagrams, 0)
  })
})

const MOST_TRIES = 12

/** One browser that visits the hostile page; false: it ended before the page did. */
async function triesAll(t: TestContext, udpPort: number): Promise<boolean> {
  const canary: Canary = { port: 0, samePort: 0, udpPort }
  const { evaluate, tested, canReach } = await open(
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
  const ways = await evaluate('return hostile()').catch((error: unknown) => {
    if (error instanceof CdpClosed) return null
    throw error
  })
  assert.equal(tested.canary.connections, 0)
  if (ways === null) return false
  assert(Array.isArray(ways) && ways.length >= 75, `only ${JSON.stringify(ways)}`)
  assert(tested.site.takeTally().refused > 20)
  // The positive half: the page does reach what it may.
  assert.equal(await evaluate(`return (await fetch('/ok')).text()`), 'ok')
  assert.equal(await canReach(), true)
  return true
}

type Answer = (request: http.IncomingMessage, response: http.ServerResponse) => string | undefined

function html(body: string): Answer {
  return () => `<!doctype html><title>page</title>${body}`
}

/** A page of the custom domain in a browser of its own, loaded at `/`. */
async function open(
  t: TestContext,
  answers: Record<string, Answer>,
  before: (tested: Awaited<ReturnType<typeof startTestGateway>>) => void = () => {},
) {
  const tested = await startTestGateway(t, {
    lookup: async (name) => (name.endsWith('canary.example') ? ['127.0.0.2'] : []),
    origin: (request, response) => {
      const { pathname } = new URL(request.url ?? '', 'http://x')
      if (pathname === '/') response.setHeader('content-type', 'text/html')
      const body = answers[pathname]?.(request, response)
      if (body !== undefined) response.end(body)
      else if (answers[pathname] === undefined) response.writeHead(404).end()
    },
  })
  before(tested)
  const browser = await launchBrowser({
    binary,
    dataDir,
    spkiHash: tested.gateway.spkiHash,
    pageMemoryBytes: 2 ** 40,
    requireSandbox: false,
    log: silentLog(),
  })
  t.after(() => browser.kill('the test is over'))
  const { browserContextId } = await browser.cdp.browser.send('Target.createBrowserContext', {
    proxyServer: tested.site.proxyUrl,
    proxyBypassList: '<-loopback>',
  })
  const { targetId } = await browser.cdp.browser.send('Target.createTarget', {
    url: 'about:blank',
    browserContextId,
  })
  const { sessionId } = await browser.cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
  const page = browser.cdp.session(sessionId)
  const loaded = Promise.withResolvers<void>()
  page.listen({ 'Page.loadEventFired': () => loaded.resolve() })
  await page.send('Page.enable')
  const { errorText } = await page.send('Page.navigate', { url: `https://${CUSTOM_DOMAIN}/` })
  assert.equal(errorText, undefined)
  await loaded.promise

  return {
    tested,
    /** Runs the body of an async function in the page and gives what it returns. */
    async evaluate(body: string): Promise<unknown> {
      const { result, exceptionDetails } = await page.send('Runtime.evaluate', {
        expression: `(async () => { ${body} })()`,
        awaitPromise: true,
        returnByValue: true,
      })
      assert.equal(exceptionDetails, undefined, exceptionDetails?.exception?.description)
      return result.value
    },
    /** Whether the same page reaches the origin's own address, which is allowed, by a plain request. */
    async canReach(): Promise<boolean> {
      const url = `http://127.0.0.1:${tested.originPort}/ok`
      const { errorText: refused } = await page.send('Page.navigate', { url })
      return refused === undefined
    },
  }
}

function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}
