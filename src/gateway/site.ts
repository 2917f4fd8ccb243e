import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'

import type { Log } from '../log.ts'
import type { AddressGuard } from './address-guard.ts'
import {
  answer,
  type ExchangeDeps,
  exchange,
  faultOf,
  type PageRequest,
  type PageResponse,
  type Upstream,
} from './exchange.ts'
import { createGuardedAgents } from './guarded-agents.ts'
import { ConnectError, guardedConnect } from './guarded-connect.ts'
import { headersForOrigin, headersForOther, headersFromOrigin, headersFromOther } from './headers.ts'
import type { Authority } from './host-name.ts'
import type { GatewayLimits } from './limits.ts'
import type { Lookup } from './lookup.ts'
import { createTally, type RefusalReason, type SiteTally } from './tally.ts'
import { connectTarget, hostHeader, namesOwnHost, readSite, requestTarget } from './target.ts'
import type { GatewayKey } from './tls-key.ts'
import { tunnel } from './tunnel.ts'
import { answerRaw, upgrade } from './upgrade.ts'

export type GatewaySite = {
  /** `http://127.0.0.1:PORT`, for one browser context and nobody else. */
  proxyUrl: string
  /** What went through and what was refused since the last call; a page's limits begin anew. */
  takeTally(): SiteTally
  close(): Promise<void>
}

export type SiteDeps = {
  guard: AddressGuard
  key: GatewayKey
  limits: GatewayLimits
  log: Log
  lookup: Lookup | undefined
  ca: string | undefined
}

/**
 * The way out of one browser context. Three kinds of traffic arrive at its
 * listener: CONNECT to the custom domain (TLS ends here, requests go to the
 * origin), CONNECT to any other host (a tunnel after the address check), and
 * whole requests for plain http. All else is refused and counted.
 */
export async function openSite(
  { customDomain, originUrl }: { customDomain: string; originUrl: string },
  { guard, key, limits, log, lookup, ca }: SiteDeps,
): Promise<GatewaySite> {
  const site = readSite(customDomain, originUrl)
  const tally = createTally(limits)
  const { socketsPerOrigin, socketsInTotal, connectTimeoutMs } = limits
  const agents = createGuardedAgents(guard, {
    socketsPerOrigin,
    socketsInTotal,
    connectTimeoutMs,
    lookup,
    ca,
  })
  const deps: ExchangeDeps = { agents, limits, tally }
  const sockets = new Set<Socket>()

  const refuse = (target: string, why: RefusalReason) => {
    tally.refuse(target, why)
    log.debug({ domain: customDomain, target: target.slice(0, 300), why }, 'gateway refused')
  }

  const toOrigin = (headers: http.IncomingHttpHeaders, path: string, scheme: 'http' | 'https'): Upstream => ({
    ...site.origin,
    path,
    headers: headersForOrigin(headers, scheme, site),
    responseHeaders: (received) => headersFromOrigin(received, site),
  })

  /** Inside the custom domain's own connection: another host's name in there is a trick. */
  const ownRequest = (scheme: 'http' | 'https') => (request: PageRequest, response: PageResponse) => {
    const authority = 'authority' in request ? request.authority : request.headers.host
    const path = request.url ?? ''
    if (!namesOwnHost(authority, scheme, site)) {
      refuse(authority ?? '', 'misdirected')
      return answer(response, 421, 'misdirected')
    }
    if (!path.startsWith('/')) {
      refuse(path, 'malformed')
      return answer(response, 400, 'malformed')
    }
    if (!tally.admit(customDomain)) return answer(response, 403, 'limit')
    exchange(request, response, toOrigin(request.headers, path, scheme), deps)
  }

  const ownUpgrade =
    (scheme: 'http' | 'https') => (request: http.IncomingMessage, near: Duplex, head: Buffer) => {
      const path = request.url ?? ''
      if (!namesOwnHost(request.headers.host, scheme, site) || !path.startsWith('/')) {
        refuse(request.headers.host ?? '', 'misdirected')
        return answerRaw(near, 421, 'misdirected')
      }
      if (!tally.admit(customDomain)) return answerRaw(near, 403, 'limit')
      upgrade(request, near, head, toOrigin(request.headers, path, scheme), deps)
    }

  const secure = http2.createSecureServer({
    allowHTTP1: true,
    SNICallback: (_name, done) => done(null, key.secureContext),
    minVersion: 'TLSv1.3',
    maxHeaderListPairs: 256,
    settings: {
      maxConcurrentStreams: 250,
      maxHeaderListSize: limits.headerBytes,
      initialWindowSize: 1 << 20,
    },
  })
  secure.on('request', ownRequest('https')).on('upgrade', ownUpgrade('https'))
  secure.on('sessionError', ignore).on('tlsClientError', ignore)

  const plain = http.createServer({ maxHeaderSize: limits.headerBytes })
  plain.on('request', ownRequest('http')).on('upgrade', ownUpgrade('http'))

  const openTunnel = async (near: Duplex, authority: Authority) => {
    const target = hostHeader(authority, 'https')
    const gone = new AbortController()
    near.once('close', () => gone.abort(new Error('the page went away')))
    near.on('error', ignore)
    const { host, port } = authority
    const timeoutMs = limits.connectTimeoutMs
    const far = await guardedConnect({ host: host.text, port, guard, signal: gone.signal, timeoutMs, lookup })
    near.write('HTTP/1.1 200 Connection established\r\n\r\n')
    let bytes = 0
    tunnel(near, far, {
      idleTimeoutMs: limits.idleTimeoutMs,
      receive(count) {
        bytes += count
        return tally.receive(target, count, bytes)
      },
    })
  }

  const onConnect = (request: http.IncomingMessage, near: Duplex, head: Buffer) => {
    const raw = request.url ?? ''
    const target = connectTarget(raw, site)
    if (target.kind === 'refused') {
      refuse(raw, target.why)
      return answerRaw(near, 403, target.why)
    }
    if (head.length > 0) near.unshift(head)
    if (target.kind === 'own') {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (target.scheme === 'https') secure.emit('connection', near)
      else plain.emit('connection', near)
      return
    }
    if (!tally.admit(raw)) return answerRaw(near, 403, 'limit')
    openTunnel(near, target.authority).catch((error) => {
      const { status, why } = faultOf(error)
      if (why === 'refused-address') refuse(raw, why)
      else if (error instanceof ConnectError) tally.failConnect(error.fault)
      answerRaw(near, status, why)
    })
  }

  const onRequest = (request: http.IncomingMessage, response: http.ServerResponse) => {
    const { target, path } = requestTarget(request.url ?? '', site)
    if (target.kind === 'refused') {
      refuse(request.url ?? '', target.why)
      return answer(response, 403, target.why)
    }
    if (!tally.admit(request.url ?? '')) return answer(response, 403, 'limit')
    if (target.kind === 'own')
      return exchange(request, response, toOrigin(request.headers, path, 'http'), deps)
    const headers = headersForOther(request.headers, hostHeader(target.authority, 'http'))
    const { authority } = target
    exchange(
      request,
      response,
      { scheme: 'http', authority, path, headers, responseHeaders: headersFromOther },
      deps,
    )
  }

  // Chromium closes what it does not need; ours must not close first, under a request.
  const listener = http.createServer({
    maxHeaderSize: limits.headerBytes,
    keepAliveTimeout: limits.idleTimeoutMs,
  })
  listener.maxConnections = limits.connectionsPerSite
  listener.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  listener.on('connect', onConnect).on('request', onRequest)
  listener.on('upgrade', (request, near) => {
    // A browser opens WebSockets with CONNECT, also plain ones.
    refuse(request.url ?? '', 'malformed')
    answerRaw(near, 403, 'malformed')
  })
  listener.on('clientError', (_error, near) => {
    refuse('', 'malformed')
    answerRaw(near, 400, 'malformed')
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')

  return {
    proxyUrl: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    takeTally: tally.take,
    async close() {
      const closed = once(listener, 'close')
      listener.close()
      for (const socket of sockets) socket.destroy()
      agents.close()
      await closed
    },
  }
}

function ignore(): void {}
