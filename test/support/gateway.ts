/** A gateway between a toy origin, a forbidden canary, and a bare proxy client. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http from 'node:http'
import http2 from 'node:http2'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import tls from 'node:tls'
import type { Lookup } from '@prepaint/outbound'
import { silentLog } from '@prepaint/runtime/log.ts'
import ipaddr from 'ipaddr.js'
import type { GatewayLimits } from '../../packages/engine/src/gateway/request-counts.ts'
import { type GatewaySite, startGateway } from './engine-parts.ts'
import { listening, openSocket, serve } from './loopback.ts'

export const CUSTOM_DOMAIN = 'shop.example'

/** The canary has the origin's port on 127.0.0.2, and another on 127.0.0.1, so only the address guard protects it. */
export async function startTestGateway(
  t: { after(end: () => unknown): void },
  options: {
    origin?: http.RequestListener
    limits?: Partial<GatewayLimits>
    lookup?: Lookup
    originHost?: string
    preload?: boolean
    originHeaders?: readonly string[]
  } = {},
) {
  const origin = await serve(options.origin ?? ((_request, response) => response.end('origin')))
  const { port } = origin
  const canary = { connections: 0, port: 0 }
  const canaries = [net.createServer(), net.createServer()]
  for (const server of canaries) {
    server.on('connection', (socket) => {
      canary.connections += 1
      socket.on('error', () => {})
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ncanary')
    })
  }
  canaries[0]!.listen(port, '127.0.0.2')
  await once(canaries[0]!, 'listening')
  canary.port = await listening(canaries[1]!)

  const gateway = await startGateway({
    allowed: [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port }],
    log: silentLog(),
    limits: options.limits,
    preload: options.preload ?? true,
    lookup: options.lookup ?? (async () => []),
  })
  const site = await gateway.openSite({
    customDomain: CUSTOM_DOMAIN,
    originUrl: `http://${options.originHost ?? '127.0.0.1'}:${port}`,
    originHeaders: options.originHeaders,
  })
  t.after(async () => {
    await gateway.close()
    await origin.close()
    for (const server of canaries) server.close()
  })
  const proxyPort = Number(new URL(site.proxyUrl).port)

  const proxyAuthorization = proxyAuthorizationOf(site)

  /** Sends `CONNECT target` unchanged; returns the status and, with 200, the tunnel. */
  async function connect(target: string): Promise<{ status: number; socket: net.Socket }> {
    const socket = await rawConnection()
    socket.write(
      `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nProxy-Authorization: ${proxyAuthorization}\r\n\r\n`,
    )
    const head = await readHead(socket)
    return { status: Number(head.split(' ')[1] ?? 0), socket }
  }

  async function rawConnection(): Promise<net.Socket> {
    const socket = openSocket(t, proxyPort)
    await once(socket, 'connect')
    return socket
  }

  async function openOwn(protocol: 'h2' | 'http/1.1'): Promise<tls.TLSSocket> {
    const { status, socket } = await connect(`${CUSTOM_DOMAIN}:443`)
    assert.equal(status, 200)
    // Like Chromium with the spki list.
    const rejectUnauthorized = false
    const options = { socket, servername: CUSTOM_DOMAIN, rejectUnauthorized, ALPNProtocols: [protocol] }
    const secured = tls.connect(options)
    secured.on('error', () => {})
    await once(secured, 'secureConnect')
    return secured
  }

  async function openSession(): Promise<http2.ClientHttp2Session> {
    const socket = await openOwn('h2')
    const session = http2.connect(`https://${CUSTOM_DOMAIN}`, { createConnection: () => socket })
    session.on('error', () => {})
    t.after(() => session.destroy())
    return session
  }

  return {
    gateway,
    site,
    origin: origin.server,
    originPort: port,
    canary,
    proxyPort,
    connect,
    rawConnection,
    openOwn,
    openSession,

    async own(path: string, headers: http2.OutgoingHttpHeaders = {}, body?: string | Buffer) {
      const session = await openSession()
      try {
        return await ask(session, { ':path': path, ...headers }, body)
      } finally {
        session.destroy()
      }
    },

    proxyAuthorization,

    /** Sends a request unchanged but for the credentials after its first line; returns everything until the connection closes. */
    async raw(bytes: string): Promise<string> {
      const socket = await rawConnection()
      const end = bytes.indexOf('\r\n')
      socket.write(
        `${bytes.slice(0, end)}\r\nProxy-Authorization: ${proxyAuthorization}${bytes.slice(end)}`,
        'latin1',
      )
      return readAll(socket)
    },
  }
}

/** What a browser shows to its gateway, with every request. */
export function proxyAuthorizationOf({ credentials: { username, password } }: GatewaySite): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

export type Answer = { status: number; headers: http2.IncomingHttpHeaders; body: string }

export async function ask(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  body?: string | Buffer,
): Promise<Answer> {
  const stream = session.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  const [received] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders & { ':status': number }]
  return { status: received[':status'], headers: received, body: await text(stream) }
}

export async function readHead(socket: net.Socket): Promise<string> {
  let head = ''
  while (!head.includes('\r\n\r\n')) {
    if (socket.readableEnded || socket.destroyed) return head
    const chunk = socket.read() as Buffer | null
    if (chunk !== null) head += chunk.toString('latin1')
    else await Promise.race([once(socket, 'readable'), once(socket, 'close')])
  }
  const end = head.indexOf('\r\n\r\n') + 4
  if (head.length > end) socket.unshift(Buffer.from(head.slice(end), 'latin1'))
  return head.slice(0, end)
}

export async function readAll(socket: net.Socket | tls.TLSSocket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  if (!socket.closed) await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}
