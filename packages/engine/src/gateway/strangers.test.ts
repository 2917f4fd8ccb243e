/** Other programs of the machine, which can connect to a gateway's listener as its browser does. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import type http from 'node:http'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { browserUser, ownUid } from '@prepaint/runtime/system-user.ts'
import { CUSTOM_DOMAIN, readAll, readHead, startTestGateway } from '../../../../test/support/gateway.ts'
import { openRenderer, scripted } from '../../../../test/support/renderer.ts'

const STRANGER = path.join(import.meta.dirname, '../../../../test/support/gateway-stranger-main.ts')

/** Only root can become another user. */
const users = ownUid() === 0 ? [0, browserUser()?.uid ?? 0, 65_431] : [ownUid()]

async function askAs(uid: number, port: number, requests: readonly string[]): Promise<string[]> {
  const texts = requests.map((text) => Buffer.from(text).toString('base64'))
  const { stdout } = await promisify(execFile)(process.execPath, [STRANGER, `${uid}`, `${port}`, ...texts])
  const told = JSON.parse(stdout)
  assert.equal(told.uid, uid)
  return told.responses
}

/** The ports at which this process listens, as every program of the machine can see them. */
function listeningPorts(): number[] {
  const sockets = new Set(
    readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1] ?? []
      } catch {
        return []
      }
    }),
  )
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)
  return rows.flatMap((row) => {
    const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/)
    return state === '0A' && sockets.has(inode) ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : []
  })
}

const basic = (password: string, username = 'browser') =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

/** Every kind of traffic that a browser brings. */
const requestsOf = (origin: string, more = '') => [
  `CONNECT ${CUSTOM_DOMAIN}:443 HTTP/1.1\r\nHost: a\r\n${more}\r\n`,
  `CONNECT ${CUSTOM_DOMAIN}:80 HTTP/1.1\r\nHost: a\r\n${more}\r\n`,
  `CONNECT ${origin} HTTP/1.1\r\nHost: a\r\n${more}\r\n`,
  `GET http://${CUSTOM_DOMAIN}/ HTTP/1.1\r\nHost: a\r\n${more}Connection: close\r\n\r\n`,
  `GET http://${origin}/ HTTP/1.1\r\nHost: a\r\n${more}Connection: close\r\n\r\n`,
  `POST http://${CUSTOM_DOMAIN}/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n${more}Connection: close\r\n\r\nbody`,
]

const asked: string[] = []
const gateway = await startTestGateway(
  { after },
  {
    origin({ url, headers }, response) {
      asked.push(JSON.stringify(headers))
      if (url === '/asks') response.writeHead(407, { 'proxy-authenticate': 'Basic realm="evil"' })
      response.end('the origin')
    },
  },
)

describe('a program that is not the browser', () => {
  for (const uid of users) {
    const who = uid === ownUid() ? `the node's own user (${uid})` : `user ${uid}`
    it(`is refused while a page is rendered, as ${who}, and the origin hears nothing of it`, async (t) => {
      const renderer = await openRenderer({}, t)
      const { port: originPort } = new URL(renderer.originUrl)
      const secrets: unknown[] = []
      const held = Promise.withResolvers<http.ServerResponse>()
      renderer.origin.on('request', ({ url, headers }) => secrets.push(`${url} ${headers['x-secret']}`))
      renderer.routes.set('/page', scripted(`fetch('/held').then(async (held) => show(await held.text()))`))
      renderer.routes.set('/held', (_request, response) => held.resolve(response))
      const before = listeningPorts()
      const rendering = renderer.html('/page', {
        domain: CUSTOM_DOMAIN,
        originHeaders: ['X-Secret', 'canary'],
      })
      const response = await held.promise
      const ports = listeningPorts().filter((port) => !before.includes(port))
      assert.equal(ports.length, 1)
      const answers = await askAs(uid, ports[0]!, requestsOf(`127.0.0.1:${originPort}`))
      for (const answer of answers) assert.match(answer, /^HTTP\/1\.1 407 /)
      response.end('for the page')
      assert.match(await rendering, /<li>for the page/)
      assert.deepEqual(secrets, ['/page canary', '/held canary'])
    })
  }
})

it('the profile of a browser, which holds its temporary files, cannot be entered by other users', async (t) => {
  const { dataDir } = await openRenderer({}, t)
  const home = path.join(dataDir, 'browsers')
  const profiles = readdirSync(home).map((name) => path.join(home, name))
  assert.equal(profiles.length, 1)
  for (const dir of [home, ...profiles]) assert.equal(statSync(dir).mode & 0o077, 0, dir)
})

describe('the credentials of a gateway', () => {
  it('are asked for with each request of a connection, not only with the first', async () => {
    const { rawConnection, proxyAuthorization, originPort } = gateway
    const socket = await rawConnection()
    const whole = `GET http://127.0.0.1:${originPort}/ HTTP/1.1\r\nHost: a\r\n`
    socket.write(`${whole}Proxy-Authorization: ${proxyAuthorization}\r\n\r\n`)
    assert.match(await readHead(socket), /^HTTP\/1\.1 200 /)
    socket.write(`${whole}Connection: close\r\n\r\n`)
    assert.match(await readAll(socket), /HTTP\/1\.1 407 [\s\S]*proxy-authenticate: Basic/i)
  })

  it('open nothing when they are wrong, nearly right, in another scheme, or those of another site', async () => {
    const { site, proxyPort, originPort } = gateway
    const other = await gateway.gateway.openSite({
      customDomain: 'other.example',
      originUrl: `http://127.0.0.1:${originPort}`,
    })
    const { password } = site.credentials
    const wrong = [
      '',
      basic(''),
      basic('x'.repeat(password.length)),
      basic(password.slice(0, -1)),
      basic(`${password}x`),
      basic(password, 'Browser'),
      basic(password).replace('Basic', 'Bearer'),
      basic(other.credentials.password),
    ]
    const heard = asked.length
    for (const value of wrong) {
      const requests = requestsOf(`127.0.0.1:${originPort}`, `Proxy-Authorization: ${value}\r\n`)
      for (const answer of await askAs(ownUid(), proxyPort, requests))
        assert.match(answer, /^HTTP\/1\.1 407 /, value)
    }
    assert.equal(asked.length, heard)
  })

  it('are not sent on, to the site nor to another host', async () => {
    const { raw, originPort } = gateway
    for (const host of [CUSTOM_DOMAIN, `127.0.0.1:${originPort}`]) {
      const answer = await raw(`GET http://${host}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      assert.match(answer, /^HTTP\/1\.1 200 /)
      assert.doesNotMatch(asked.at(-1)!, /proxy-authorization/i)
    }
  })

  it('are not lost by a host that asks for a proxy’s credentials: its 407 is a 502', async () => {
    const { raw, originPort } = gateway
    for (const host of [CUSTOM_DOMAIN, `127.0.0.1:${originPort}`]) {
      const answer = await raw(`GET http://${host}/asks HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      assert.match(answer, /^HTTP\/1\.1 502 /)
      assert.doesNotMatch(answer, /evil/)
    }
  })
})

describe('a page', () => {
  it('cannot make later pages of its domain lose the gateway, with credentials of its own or a host that asks for a proxy’s', async (t) => {
    const renderer = await openRenderer({}, t)
    const realms = Array.from({ length: 40 }, (_none, number) => `/realm/${number}`)
    for (const realm of realms) {
      renderer.routes.set(realm, ({ headers }, response) => {
        if (headers.authorization === undefined)
          response.writeHead(401, { 'www-authenticate': `Basic realm="${realm}"` })
        response.end('protected')
      })
    }
    renderer.routes.set('/407', (_request, response) => {
      response.writeHead(407, { 'proxy-authenticate': 'Basic realm="Prepaint gateway"' }).end()
    })
    const work = `for (const path of ${JSON.stringify(realms)}) {
        const request = new XMLHttpRequest()
        request.open('GET', location.origin + path, false, 'someone', 'password')
        request.send()
      }`
    renderer.routes.set(
      '/page',
      scripted(`
        const source = ${JSON.stringify(work)}.replaceAll('location.origin', JSON.stringify(location.origin))
        const worker = new Worker(URL.createObjectURL(new Blob([source + '; postMessage("done")'])))
        worker.onmessage = async () => {
          await fetch('/407').catch(() => {})
          // It needs a connection of its own.
          const socket = new WebSocket('wss://${CUSTOM_DOMAIN}/socket')
          socket.onopen = socket.onerror = ({ type }) => show('done ' + type)
        }`),
    )
    renderer.routes.set(
      '/next',
      scripted(`new WebSocket('wss://${CUSTOM_DOMAIN}/socket').onopen = () => show('the socket was opened')`),
    )
    renderer.origin.on('upgrade', ({ headers }: http.IncomingMessage, socket) => {
      const key = createHash('sha1')
        .update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest('base64')
      t.after(() => void socket.destroy())
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
      )
    })
    // The browser remembers twenty: those of the gateway are gone, for this page.
    assert.match(await renderer.html('/page'), /<li>done error/)
    for (let round = 0; round < 3; round++)
      assert.match(await renderer.html('/next'), /the socket was opened/)
  })
})
