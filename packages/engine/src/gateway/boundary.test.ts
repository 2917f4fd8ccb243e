/**
 * Ways to reach a canary that nobody may reach. It shares its port with the allowed origin (127.0.0.2 beside 127.0.0.1),
 * or its address: only a rule of the gateway stands before it. Each group has a way that works.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http2 from 'node:http2'
import { after, afterEach, beforeEach, describe, it } from 'node:test'
import { ask, CUSTOM_DOMAIN, readAll, startTestGateway } from '../../../../test/support/gateway.ts'

/** Every spelling of 127.0.0.2 that some program reads as an address. */
const LITERALS = `127.0.0.2 127.0.0.2. 127.2 127.0.2 0177.0.0.2 0177.0.0.02 127.0.0.002 0x7f.0.0.2 0x7f.2
  0x7f000002 0X7F000002 2130706434 017700000002 127.0.0.0x2 127.0.0.2%00 127.0.0.2%2eexample
  127%2e0%2e0%2e2 %3127.0.0.2 [::ffff:127.0.0.2] [::ffff:7f00:2] [0:0:0:0:0:ffff:7f00:2] [::127.0.0.2]
  [::7f00:2] [::ffff:0:7f00:2] [64:ff9b::127.0.0.2] [64:ff9b::7f00:2] [64:ff9b:1::7f00:2] [2002:7f00:2::]
  [2001:0:0:0:0:0:80ff:fffd] [::ffff:7f00:2%lo] [::ffff:7f00:2%25lo]`.split(/\s+/)

/** Names that the injected lookup leads to the canary. */
const NAMES: Record<string, string[]> = {
  'canary.example': ['127.0.0.2'],
  'mapped.example': ['::ffff:127.0.0.2'],
  'nat64.example': ['64:ff9b::7f00:2'],
  'zone.example': ['::ffff:7f00:2%lo'],
  'mixed.example': ['10.0.0.1', '127.0.0.2', '::ffff:127.0.0.2'],
  localhost: ['127.0.0.2'],
}
const lookup = async (name: string) => NAMES[name] ?? (name === 'origin.example' ? ['127.0.0.1'] : [])

let seen: string[]
const gateway = await startTestGateway(
  { after },
  {
    lookup,
    origin: (request, response) => {
      seen.push(`${request.method} ${request.url}`)
      request.resume().on('end', () => response.end(`host=${request.headers.host}`))
    },
  },
)
const {
  originPort: port,
  canary,
  connect,
  raw,
  rawConnection,
  openOwn,
  openSession,
  proxyAuthorization,
} = gateway
const named = await startTestGateway({ after }, { lookup, originHost: 'origin.example' })
beforeEach(() => {
  seen = []
})
afterEach(() => {
  for (const { canary } of [gateway, named]) assert.equal(canary.connections, 0, 'the canary was reached')
})

describe('CONNECT', () => {
  it('reaches the origin by its address, and by its name', async () => {
    assert.equal((await connect(`127.0.0.1:${port}`)).status, 200)
    for (const name of ['origin.example', 'ORIGIN.example.'])
      assert.equal((await named.connect(`${name}:${named.originPort}`)).status, 200)
  })

  it('reaches no address in any spelling, on no port, nor with anything around it', async () => {
    const around = [
      `user@127.0.0.2:${port}`,
      `127.0.0.1:${port}@127.0.0.2:${port}`,
      `127.0.0.2\t:${port}`,
      `127.0.0.1:${port}/@127.0.0.2:${port}`,
      `127.0.0.2:${port}?127.0.0.1:${port}`,
      `http://127.0.0.2:${port}/`,
      `[127.0.0.2]:${port}`,
      `[::1]:${port}`,
      `[::]:${port}`,
      `0.0.0.0:${port}`,
      '169.254.169.254:80',
      '[fd00:ec2::254]:80',
      `１２７.0.0.2:${port}`,
      `*:${port}`,
      `:${port}`,
    ]
    for (const target of LITERALS.flatMap((literal) => [port, 80, 443].map((at) => `${literal}:${at}`)))
      assert.equal((await connect(target)).status, 403, target)
    for (const target of around) assert.notEqual((await connect(target)).status, 200, target)
  })

  // The port is the origin's own, so the port rule lets it through: here the address guard stands alone.
  for (const name of Object.keys(NAMES)) {
    it(`does not follow ${name}`, async (t) => {
      const tested = await startTestGateway(t, { lookup, originHost: name })
      assert.equal((await tested.connect(`${name}:${tested.originPort}`)).status, 403)
      const { status, headers } = await tested.own('/')
      assert.deepEqual([status, headers['x-prepaint-gateway']], [403, 'refused-address'])
      assert.equal(tested.canary.connections, 0)
    })
  }

  it('asks anew for each connection: rebinding gets as far as the public address', async (t) => {
    const turns = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1']]
    const rebinding = { lookup: async () => turns.shift() ?? [], originHost: 'rebind.example' }
    const tested = await startTestGateway(t, rebinding)
    for (const status of [200, 403, 200])
      assert.equal((await tested.connect(`rebind.example:${tested.originPort}`)).status, status)
    assert.equal(tested.canary.connections, 0)
  })

  it('takes no port but 80, 443 and the origin’s own', async () => {
    const { originPort, canary } = named
    const own = 'origin.example'
    // The origin's port is for the origin's own host.
    const others = ['other.example', '127.0.0.1', CUSTOM_DOMAIN].map((host) => `${host}:${originPort}`)
    const refused = [
      `127.0.0.1:${canary.port}`,
      `${own}:${canary.port}`,
      ...others,
      `${CUSTOM_DOMAIN}:22`,
      `${own}:22`,
      `${own}:25`,
      `${own}:0`,
      `${own}:65536`,
      `${own}:00000000000443`,
      `${own}:-443`,
      `${own}:+443`,
      `${own}: 443`,
      `${own}:443:22`,
      `${own}:`,
      own,
    ]
    for (const target of refused) assert.notEqual((await named.connect(target)).status, 200, target)
  })

  it('cannot be split: a line break in the target ends in an error', async () => {
    for (const target of [
      `127.0.0.1:${port} HTTP/1.1\r\nHost: a\r\nProxy-Authorization: ${proxyAuthorization}\r\n\r\nCONNECT 127.0.0.2:${port}`,
      `127.0.0.1\r\n.127.0.0.2:${port}`,
      `127.0.0.1\n:${port}`,
    ]) {
      const socket = await rawConnection()
      socket.write(
        `CONNECT ${target} HTTP/1.1\r\nHost: a\r\nProxy-Authorization: ${proxyAuthorization}\r\n\r\n`,
      )
      socket.end()
      await readAll(socket)
    }
  })
})

describe('whole requests', () => {
  it('reach the origin, whatever the Host header says', async () => {
    for (const host of [`127.0.0.2:${port}`, `127.0.0.1:${canary.port}`, 'canary.example', '']) {
      const head = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
      assert.match(await raw(head), new RegExp(`host=127\\.0\\.0\\.1:${port}$`))
    }
  })

  it('reach nothing by another address, port, scheme or form', async () => {
    const refused = [
      ...LITERALS.flatMap((literal) => [`http://${literal}:${port}/`, `http://${literal}/`]),
      ...Object.keys(NAMES).map((name) => `http://${name}/`),
      `http://127.0.0.1:${canary.port}/`,
      `http://user:password@127.0.0.2:${port}/`,
      `http://127.0.0.1:${port}@127.0.0.2:${port}/`,
      `http://127.0.0.1:${port}\\@127.0.0.2:${port}/`,
      `http:/127.0.0.2:${port}/`,
      `https://127.0.0.2:${port}/`,
      `ws://127.0.0.2:${port}/`,
      'file:///etc/passwd',
      `//127.0.0.2:${port}/`,
      '/',
      '*',
      `127.0.0.2:${port}`,
    ]
    for (const url of refused) {
      const head = `HTTP/1.1\r\nHost: 127.0.0.2:${port}\r\nConnection: close\r\n\r\n`
      assert.match(await raw(`GET ${url} ${head}`), /^HTTP\/1.1 (?:400|403) /, url)
    }
  })

  it('upgrade nowhere', async () => {
    const upgrade = 'HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    for (const target of [`http://127.0.0.2:${port}/`, `ws://127.0.0.2:${port}/`, '/'])
      assert.match(await raw(`GET ${target} ${upgrade}`), /^HTTP\/1.1 40[03] /)
  })

  it('cannot be smuggled behind one another', async () => {
    const inner = `GET http://127.0.0.2:${port}/ HTTP/1.1\r\nHost: 127.0.0.2\r\n\r\n`
    const head = `POST http://127.0.0.1:${port}/outer HTTP/1.1\r\nHost: a\r\nConnection: close\r\n`
    for (const framing of [
      `Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
      `Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${inner}`,
      `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${inner}`,
      `Content-Length: 0\r\nContent-Length: 4\r\n\r\n${inner}`,
      `Content-Length: ${inner.length}\r\n\r\n${inner}`,
    ]) {
      await raw(head + framing)
    }
    // The last one is an honest body, and arrives as one.
    assert.deepEqual(seen.at(-1), 'POST /outer')
    assert(seen.every((request) => request === 'POST /outer'))
  })
})

describe('inside the custom domain’s own connection', () => {
  it('another authority is misdirected', async () => {
    const session = await openSession()
    const others = [
      `127.0.0.2:${port}`,
      `127.0.0.1:${port}`,
      'canary.example',
      `user@${CUSTOM_DOMAIN}`,
      `${CUSTOM_DOMAIN}:${port}`,
      `${CUSTOM_DOMAIN}.canary.example`,
      `${CUSTOM_DOMAIN}:443:80`,
      '',
    ]
    for (const authority of others) {
      const said = await refusal(session, { ':path': '/', ':authority': authority })
      assert.match(said, /^(?:421|broken off)$/, authority)
    }
    const twoNames = { ':path': '/', ':authority': CUSTOM_DOMAIN, host: `127.0.0.2:${port}` }
    assert.equal(await refusal(session, twoNames), '421')
    assert.equal((await ask(session, { ':path': '/' })).status, 200)
  })

  it('a path that is a URL is refused, and one that looks like it stays a path', async () => {
    const session = await openSession()
    const url = `http://127.0.0.2:${port}/`
    for (const path of [url, '127.0.0.2', `@127.0.0.2:${port}/`, '\\\\127.0.0.2', '']) {
      assert.match(await refusal(session, { ':path': path }), /^(?:400|broken off)$/, path)
    }
    assert.equal(await refusal(session, { ':path': '*', ':method': 'OPTIONS' }), '400')
    for (const path of [`/${url}`, '//127.0.0.2/'])
      assert.equal(await refusal(session, { ':path': path }), '200')
    assert.equal(await refusal(session, { ':path': '/@127.0.0.2/', ':scheme': 'file' }), '200')
    assert.deepEqual(seen, [`GET /${url}`, 'GET //127.0.0.2/', 'GET /@127.0.0.2/'])
  })

  it('a CONNECT inside a tunnel to the custom domain is refused', async () => {
    const session = await openSession()
    const stream = session.request({ ':method': 'CONNECT', ':authority': `127.0.0.2:${port}` })
    const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    assert.equal(Number(headers[':status']), 405)
    const socket = await openOwn('http/1.1')
    socket.write(`CONNECT 127.0.0.2:${port} HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\n\r\n`)
    assert.doesNotMatch(await readAll(socket), / 200 /)
  })

  it('HTTP/1.1 with another Host, two Hosts, a whole URL, or a value that breaks out of its line is refused', async () => {
    for (const head of [
      `GET / HTTP/1.1\r\nHost: 127.0.0.2:${port}`,
      `GET / HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\nHost: 127.0.0.2:${port}\r\nX: y`,
      `GET http://127.0.0.2:${port}/ HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}`,
      `GET / HTTP/1.1\r\nX: y`,
      `GET / HTTP/1.1\r\nHost: 127.0.0.2:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket`,
      `GET / HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\nConnection: Upgrade\r\nUpgrade: h2c`,
      `POST / HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\nConnection: Upgrade\r\nUpgrade: websocket`,
      `GET / HTTP/1.1\r\nHost: ${CUSTOM_DOMAIN}\r\nX-Value: a\rX-Injected: 1`,
    ]) {
      const socket = await openOwn('http/1.1')
      socket.write(`${head}${head.includes('Upgrade') ? '' : '\r\nConnection: close'}\r\n\r\n`)
      const answer = await readAll(socket)
      if (!head.includes('Host: shop.example\r\nHost')) assert.match(answer, /^HTTP\/1.1 4\d\d /, head)
    }
  })
})

/** The status, or that nghttp2 itself broke the stream off as malformed. */
const refusal = (session: http2.ClientHttp2Session, headers: http2.OutgoingHttpHeaders): Promise<string> =>
  ask(session, headers).then(
    ({ status }) => String(status),
    () => 'broken off',
  )
