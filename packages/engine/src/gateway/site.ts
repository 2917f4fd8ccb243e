import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Origin } from '@prepaint/contract/site-files/site.ts'
import { type AddressGuard, guardedConnect, type Lookup } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { headersForOther, headersFromOther, type ProxiedSite } from '@prepaint/outbound/headers'
import type { Log } from '@prepaint/runtime/log.ts'
import { createDocumentWatch, type DocumentWatch } from './document-watch.ts'
import type { Documents } from './documents.ts'
import { answer, type ExchangeDeps, exchange, explainFault, openUpstream } from './exchange.ts'
import { createHostBlock, type HostBlock } from './host-block.ts'
import { createOwnDomain, type OwnDomain } from './own-domain.ts'
import type { Knowledge } from './preload/knowledge.ts'
import { Preloads } from './preload/preloads.ts'
import { createRequestCounts, type Excess, type GatewayLimits } from './request-counts.ts'
import { connectTarget, readSite, requestTarget } from './target.ts'
import type { GatewayKey } from './tls-key.ts'
import { tunnel } from './tunnel.ts'
import { answerRaw } from './upgrade.ts'

export type GatewaySite = {
  /** `http://127.0.0.1:PORT`, for one browser context only. */
  proxyUrl: string
  /** The first limit that the page has met; null: none. */
  excess(): Excess | null
  /** Requests of the page that were answered by what the origin had been asked for before the page asked. */
  preloaded(): number
  /** The list or pattern of the page's rule that blocks the address; null: none. */
  blockedBy(url: string): string | null
  /** An address of the site itself, to which no answer is under way. */
  isDelivered(url: string): boolean
  /** The limits of a page begin anew, and what was sent ahead for the last one is let go. */
  endPage(): void
  judgeNext: DocumentWatch['judgeNext']
  close(): Promise<void>
}

/** `block`: lists and patterns of hosts that its pages must not reach; never the domain itself. */
export type OpenedSite = {
  customDomain: string
  originUrl: string
  block?: readonly string[] | undefined
  /** Names and values by turns, for the origin only. */
  originHeaders?: readonly string[] | undefined
  /** Whom its browser plays. */
  visitor?: object | undefined
}

type SiteDeps = {
  guard: AddressGuard
  key: GatewayKey
  /** Of what this site's pages ask for; shared by its contexts. */
  knowledge: Knowledge
  documents: Documents
  preload: boolean
  limits: GatewayLimits
  log: Log
  lookup: Lookup | undefined
  ca: string | undefined
}

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n'

/**
 * Opens the way out of one browser context. Three kinds of traffic arrive at its listener: CONNECT to the custom domain
 * (TLS ends here, requests go to the origin), CONNECT to any other host (a tunnel after the address check), and whole
 * requests for plain http. Everything else is refused and counted.
 */
export async function openSite(
  opened: OpenedSite,
  { guard, key, knowledge, documents: asked, preload, limits, log, lookup, ca }: SiteDeps,
): Promise<GatewaySite> {
  const { customDomain, originUrl, originHeaders, block = [] } = opened
  const site = readSite(customDomain, originUrl, originHeaders)
  const counts = createRequestCounts(limits)
  const { socketsPerOrigin, socketsInTotal, connectTimeoutMs } = limits
  const origins = createClient(guard, {
    perOrigin: socketsPerOrigin,
    inTotal: socketsInTotal,
    connectTimeoutMs,
    lookup,
    ca,
  })
  const deps: ExchangeDeps = { origins, limits, counts }
  const documents = createDocumentWatch((headers) => asked.learn(opened, headers))
  const preloads = new Preloads(knowledge, ({ path, headers }) =>
    openUpstream({ origin: site.origin, path, headers }, deps),
  )
  const ownDomain = createOwnDomain(site, key, documents, preloads, deps)
  const blockedBy = createHostBlock(block)
  const proxy = new SiteProxy({ site, ownDomain, blockedBy, guard, lookup, log, ...deps })
  const port = await proxy.listen()

  return {
    proxyUrl: `http://127.0.0.1:${port}`,
    excess: counts.excess,
    preloaded: () => preloads.used,
    blockedBy: (url) => {
      const host = URL.parse(url)?.hostname ?? ''
      return host === site.name ? null : blockedBy(host)
    },
    isDelivered: ownDomain.isDelivered,
    endPage() {
      preloads.end()
      counts.reset()
    },
    judgeNext(judge, given) {
      if (judge === null) return documents.judgeNext(null)
      documents.judgeNext((status, headers, path) => {
        const goesOn = judge(status, headers, path)
        // After the page's own head has gone.
        if (goesOn === true && status === 200 && preload)
          queueMicrotask(() => preloads.begin(path, `https://${site.name}${path}`))
        return goesOn
      }, given)
    },
    async close() {
      documents.judgeNext(null)
      preloads.close()
      const closed = proxy.close()
      origins.close()
      await closed
    },
  }
}

type ProxyParts = ExchangeDeps & {
  site: ProxiedSite
  ownDomain: OwnDomain
  blockedBy: HostBlock
  guard: AddressGuard
  lookup: Lookup | undefined
  log: Log
}

/** The forward proxy of one browser context. */
class SiteProxy {
  readonly #parts: ProxyParts
  readonly #listener: http.Server
  readonly #sockets = new Set<Socket>()

  constructor(parts: ProxyParts) {
    this.#parts = parts
    const { headerBytes, idleTimeoutMs, connectionsPerSite } = parts.limits
    // Chromium closes idle connections; closing them here could meet a request.
    this.#listener = http.createServer({ maxHeaderSize: headerBytes, keepAliveTimeout: idleTimeoutMs })
    this.#listener.maxConnections = connectionsPerSite
    this.#listener.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    this.#listener.on('connect', (request, near, head) => this.#connect(request, near, head))
    this.#listener.on('request', (request, response) => this.#request(request, response))
    this.#listener.on('upgrade', (request, near) => {
      // A browser opens WebSockets with CONNECT, also plain ones.
      this.#refuse(request.url ?? '', 'malformed')
      answerRaw(near, 403, 'malformed')
    })
    this.#listener.on('clientError', (error: NodeJS.ErrnoException, near) => {
      // Anything else is a connection that broke, not a request.
      if (error.code?.startsWith('HPE_')) this.#refuse('', 'malformed')
      answerRaw(near, 400, 'malformed')
    })
  }

  /** Listens on a free port of loopback and returns it. */
  async listen(): Promise<number> {
    this.#listener.listen(0, '127.0.0.1')
    await once(this.#listener, 'listening')
    return (this.#listener.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    const closed = once(this.#listener, 'close')
    this.#listener.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #refuse(target: string, why: string): void {
    const { log, site } = this.#parts
    log.debug({ domain: site.name, target: target.slice(0, 300), why }, 'gateway refused')
  }

  #connect(request: http.IncomingMessage, near: Duplex, head: Buffer) {
    const { site, ownDomain, blockedBy, counts } = this.#parts
    near.on('error', ignore)
    const raw = request.url ?? ''
    const target = connectTarget(raw, site)
    if (head.length > 0) near.unshift(head)
    switch (target.kind) {
      case 'refused':
        this.#refuse(raw, target.why)
        return answerRaw(near, 403, target.why)
      case 'own':
        near.write(ESTABLISHED)
        return ownDomain.accept(near, target.scheme)
      case 'other':
        if (blockedBy(target.origin.hostname) !== null) return answerRaw(near, 403, 'blocked')
        if (!counts.admit()) return answerRaw(near, 403, 'limit')
        this.#openTunnel(near, target.origin).catch((error: unknown) => {
          const { status, why } = explainFault(error)
          answerRaw(near, status, why)
        })
    }
  }

  async #openTunnel(near: Duplex, { hostname, port }: Origin): Promise<void> {
    const { guard, lookup, limits, counts } = this.#parts
    const { connectTimeoutMs: timeoutMs, idleTimeoutMs } = limits
    const gone = new AbortController()
    near.once('close', () => gone.abort(new Error('the page went away')))
    const far = await guardedConnect({ host: hostname, port, guard, signal: gone.signal, timeoutMs, lookup })
    near.write(ESTABLISHED)
    tunnel(near, far, { idleTimeoutMs, receive: counts.receiver() })
  }

  #request(request: http.IncomingMessage, response: http.ServerResponse) {
    const { site, ownDomain, blockedBy, counts } = this.#parts
    const raw = request.url ?? ''
    const { target, path } = requestTarget(raw, site)
    switch (target.kind) {
      case 'refused':
        this.#refuse(raw, target.why)
        return answer(response, 403, target.why)
      case 'own':
        return ownDomain.answer(request, response, path)
      case 'other': {
        if (blockedBy(target.origin.hostname) !== null) return answer(response, 403, 'blocked')
        if (!counts.admit()) return answer(response, 403, 'limit')
        const { origin } = target
        const headers = headersForOther(request.headers, origin.authority)
        const upstream = { origin, path, headers, responseHeaders: headersFromOther }
        exchange(request, response, upstream, this.#parts)
      }
    }
  }
}

function ignore(): void {}
