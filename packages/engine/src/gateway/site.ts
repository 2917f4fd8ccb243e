import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Origin } from '@prepaint/contract/site-files/site.ts'
import { headersForOther, headersFromOther, type ProxiedSite } from '@prepaint/outbound/headers'
import type { Log } from '@prepaint/runtime/log.ts'
import { ProxyCredentials } from './credentials.ts'
import { type DocumentJudge, DocumentWatch } from './document-watch.ts'
import type { Documents, GivenDocument } from './documents.ts'
import { answer, exchange, explainFault, openUpstream } from './exchange.ts'
import { HostBlock } from './host-block.ts'
import type { GuardedNetwork } from './network.ts'
import { OwnDomain } from './own-domain.ts'
import type { Knowledge } from './preload/knowledge.ts'
import { Preloads } from './preload/preloads.ts'
import type { Excess } from './request-counts.ts'
import { connectTarget, readSite, requestTarget } from './target.ts'
import type { GatewayKey } from './tls-key.ts'
import { SiteTraffic } from './traffic.ts'
import { answerRaw } from './upgrade.ts'

export type OpenedSite = {
  customDomain: string
  originUrl: string
  /** Lists and patterns of hosts that its pages must not reach. They never block the domain itself. */
  block?: readonly string[] | undefined
  /** Names and values by turns, for the origin only. */
  originHeaders?: readonly string[] | undefined
  /** What its browser says of itself. */
  visitor?: object | undefined
}

/** What all sites of a gateway share. */
export type GatewayParts = {
  network: GuardedNetwork
  key: GatewayKey
  documents: Documents
  log: Log
}

type SiteOptions = {
  /** Whether requests of a page are sent ahead of it. */
  isPreloading: boolean
}

/** The gateway answers it itself. A browser asks for it to show its credentials before its pages do. */
export const SIGN_IN_URL = 'http://gateway.prepaint.invalid/'

/** RFC 9110, section 11.7.1 */
const CHALLENGE = { 'proxy-authenticate': 'Basic realm="Prepaint gateway"' }

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n'

/** The way out of one browser context. */
export class GatewaySite {
  readonly #site: ProxiedSite
  readonly #traffic: SiteTraffic
  readonly #documents: DocumentWatch
  readonly #preloads: Preloads
  readonly #ownDomain: OwnDomain
  readonly #blockedHosts: HostBlock
  readonly #proxy: SiteProxy
  readonly #isPreloading: boolean
  readonly #closing = new AbortController()
  #closed: Promise<void> | null = null

  /** `knowledge` says what pages of this site request; contexts of one site share it. */
  static async open(
    opened: OpenedSite,
    knowledge: Knowledge,
    parts: GatewayParts,
    options: SiteOptions,
  ): Promise<GatewaySite> {
    const site = new GatewaySite(opened, knowledge, parts, options)
    await site.#proxy.listen()
    return site
  }

  private constructor(
    opened: OpenedSite,
    knowledge: Knowledge,
    { network, key, documents, log }: GatewayParts,
    { isPreloading }: SiteOptions,
  ) {
    const { customDomain, originUrl, originHeaders, block = [] } = opened
    const site = readSite(customDomain, originUrl, originHeaders)
    const traffic = new SiteTraffic(network)
    this.#site = site
    this.#traffic = traffic
    this.#documents = new DocumentWatch((headers) => documents.learn(opened, headers))
    this.#preloads = new Preloads(knowledge, ({ path, headers }) =>
      openUpstream({ origin: site.origin, path, headers }, traffic.origins, traffic.limits),
    )
    this.#ownDomain = new OwnDomain(site, key, this.#documents, this.#preloads, traffic)
    this.#blockedHosts = new HostBlock(block)
    this.#proxy = new SiteProxy(site, this.#ownDomain, this.#blockedHosts, traffic, log)
    this.#isPreloading = isPreloading
  }

  /** `http://127.0.0.1:PORT`, for one browser context only. */
  get proxyUrl(): string {
    return this.#proxy.url
  }

  /** What the browser context must show. Without it, the gateway forwards nothing. */
  get credentials(): ProxyCredentials {
    return this.#proxy.credentials
  }

  /** Whether the browser has shown its credentials at `SIGN_IN_URL`. */
  get isSignedIn(): boolean {
    return this.#proxy.isSignedIn
  }

  /** Whether something was refused since then: another program asked, or the browser has lost its credentials. */
  get hasRefused(): boolean {
    return this.#proxy.hasRefused
  }

  /** Returns the first limit that the page has met, or null. */
  excess(): Excess | null {
    return this.#traffic.counts.excess()
  }

  /** Returns how many requests of the page were answered by what was sent to the origin before the page asked. */
  preloaded(): number {
    return this.#preloads.used
  }

  /** Returns the list or pattern of the page's rule that blocks the address, or null. */
  blockedBy(url: string): string | null {
    const host = URL.parse(url)?.hostname ?? ''
    return host === this.#site.name ? null : this.#blockedHosts.find(host)
  }

  /** Returns whether it is an address of the site itself, to which no answer is under way. */
  isDelivered(url: string): boolean {
    return this.#ownDomain.isDelivered(url)
  }

  /** Tells the address of each response of the site itself that begins from now on; null ends that. */
  tellBegun(tell: ((url: string) => void) | null): void {
    this.#ownDomain.tellBegun(tell)
  }

  /** Begins the limits of a page anew, and drops what was sent ahead for the last one. */
  endPage(): void {
    this.#preloads.end()
    this.#traffic.counts.reset()
  }

  /** See `DocumentWatch.judgeNext`. A document that goes on begins the requests ahead of its page. */
  judgeNext(judge: DocumentJudge | null, given?: GivenDocument): void {
    if (judge === null) {
      this.#documents.judgeNext(null)
      return
    }
    this.#documents.judgeNext((status, headers, path) => {
      const judged = judge(status, headers, path)
      if (judged === true && status === 200 && this.#isPreloading) {
        // The page's own head goes first.
        queueMicrotask(() => this.#preloads.begin(path, `https://${this.#site.name}${path}`))
      }
      return judged
    }, given)
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  /** Aborts when the site closes. */
  get closed(): AbortSignal {
    return this.#closing.signal
  }

  async #close(): Promise<void> {
    this.#closing.abort()
    this.#documents.judgeNext(null)
    this.#preloads.close()
    const closed = this.#proxy.close()
    this.#traffic.close()
    await closed
  }
}

/**
 * The forward proxy of one browser context. Three kinds of traffic arrive at its listener: CONNECT to the custom domain
 * (TLS ends here, requests go to the origin), CONNECT to any other host (a tunnel after the address check), and whole
 * requests for plain http. Everything else is refused and counted. Whoever connects must show the credentials of the
 * context with each request. All programs of the machine can reach a listener on loopback.
 */
class SiteProxy {
  readonly credentials = new ProxyCredentials()
  #isSignedIn = false
  #hasRefused = false
  #url = ''
  readonly #site: ProxiedSite
  readonly #ownDomain: OwnDomain
  readonly #blockedHosts: HostBlock
  readonly #traffic: SiteTraffic
  readonly #log: Log
  readonly #listener: http.Server
  readonly #sockets = new Set<Socket>()

  constructor(
    site: ProxiedSite,
    ownDomain: OwnDomain,
    blockedHosts: HostBlock,
    traffic: SiteTraffic,
    log: Log,
  ) {
    this.#site = site
    this.#ownDomain = ownDomain
    this.#blockedHosts = blockedHosts
    this.#traffic = traffic
    this.#log = log
    const { headerBytes, idleTimeoutMs, connectionsPerSite } = traffic.limits
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

  get isSignedIn(): boolean {
    return this.#isSignedIn
  }

  get hasRefused(): boolean {
    return this.#hasRefused
  }

  /** The listener's address. It is empty before `listen` has resolved. */
  get url(): string {
    return this.#url
  }

  /** Listens on a free port of loopback. */
  async listen(): Promise<void> {
    this.#listener.listen(0, '127.0.0.1')
    await once(this.#listener, 'listening')
    const { port } = this.#listener.address() as AddressInfo
    this.#url = `http://127.0.0.1:${port}`
  }

  async close(): Promise<void> {
    const closed = once(this.#listener, 'close')
    this.#listener.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #refuse(target: string, why: string): void {
    this.#log.debug({ domain: this.#site.name, target: target.slice(0, 300), why }, 'gateway refused')
  }

  /** Notes each request without credentials, except those before the browser's own first request. */
  #admit(request: http.IncomingMessage): boolean {
    if (this.credentials.areIn(request.headers['proxy-authorization'])) return true
    if (this.#isSignedIn && !this.#hasRefused) {
      this.#hasRefused = true
      this.#log.warn(
        { domain: this.#site.name },
        'the gateway refused a request without the credentials of its browser',
      )
    }
    return false
  }

  #connect(request: http.IncomingMessage, near: Duplex, head: Buffer) {
    near.on('error', ignore)
    if (!this.#admit(request)) return answerRaw(near, 407, 'unauthenticated', CHALLENGE)
    const raw = request.url ?? ''
    const target = connectTarget(raw, this.#site)
    if (head.length > 0) near.unshift(head)
    switch (target.kind) {
      case 'refused':
        this.#refuse(raw, target.why)
        return answerRaw(near, 403, target.why)
      case 'own':
        near.write(ESTABLISHED)
        return this.#ownDomain.accept(near, target.scheme)
      case 'other':
        if (this.#blockedHosts.find(target.origin.hostname) !== null) return answerRaw(near, 403, 'blocked')
        if (!this.#traffic.counts.admit()) return answerRaw(near, 403, 'limit')
        this.#openTunnel(near, target.origin).catch((error: unknown) => {
          const { status, why } = explainFault(error)
          answerRaw(near, status, why)
        })
    }
  }

  async #openTunnel(near: Duplex, origin: Origin): Promise<void> {
    const gone = new AbortController()
    near.once('close', () => gone.abort(new Error('the page went away')))
    const far = await this.#traffic.connect(origin, gone.signal)
    near.write(ESTABLISHED)
    this.#traffic.tunnel(near, far)
  }

  #request(request: http.IncomingMessage, response: http.ServerResponse) {
    if (!this.#admit(request)) return answer(response, 407, 'unauthenticated', CHALLENGE)
    const raw = request.url ?? ''
    if (raw === SIGN_IN_URL) return this.#signIn(response)
    const { target, path } = requestTarget(raw, this.#site)
    switch (target.kind) {
      case 'refused':
        this.#refuse(raw, target.why)
        return answer(response, 403, target.why)
      case 'own':
        return this.#ownDomain.answer(request, response, path)
      case 'other': {
        if (this.#blockedHosts.find(target.origin.hostname) !== null) return answer(response, 403, 'blocked')
        if (!this.#traffic.counts.admit()) return answer(response, 403, 'limit')
        const { origin } = target
        const headers = headersForOther(request.headers, origin.authority)
        const upstream = { origin, path, headers, responseHeaders: headersFromOther }
        exchange(request, response, upstream, this.#traffic)
      }
    }
  }

  /** RFC 9110, section 15.3.5: with 204 the browser stays on its page. */
  #signIn(response: http.ServerResponse): void {
    this.#isSignedIn = true
    response.writeHead(204, { 'cache-control': 'no-store' }).end()
  }
}

function ignore(): void {}
