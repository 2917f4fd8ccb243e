import http from 'node:http'
import http2 from 'node:http2'
import type { Duplex } from 'node:stream'
import {
  byName,
  headersForOrigin,
  headersFromOrigin,
  ORIGIN_CACHE_CONTROL,
  type ProxiedSite,
} from '@prepaint/outbound/headers'
import type { DocumentWatch } from './document-watch.ts'
import { answer, exchange, type PageRequest, type PageResponse, type Upstream } from './exchange.ts'
import type { Preloads } from './preload/preloads.ts'
import { namesOwnHost } from './target.ts'
import type { GatewayKey } from './tls-key.ts'
import type { SiteTraffic } from './traffic.ts'
import { answerRaw, upgrade } from './upgrade.ts'

type Scheme = 'http' | 'https'

/** HTTP/2 streams per connection. Chromium limits itself to 100 by default. */
const MAX_STREAMS = 250
const SESSION_MEMORY_MIB = 64

/**
 * Answers the requests of one browser context to its custom domain from the origin. HTTP/2 is for pages with endless
 * requests: on HTTP/1.1, six of them block a host. HTTP/1.1 is for WebSockets.
 */
export class OwnDomain {
  readonly #site: ProxiedSite
  readonly #documents: DocumentWatch
  readonly #preloads: Preloads
  readonly #traffic: SiteTraffic
  readonly #secure: http2.Http2SecureServer
  readonly #plain: http.Server
  /** The number of responses in progress by path. */
  readonly #underWay = new Map<string, number>()
  #tellBegun: ((url: string) => void) | null = null

  constructor(
    site: ProxiedSite,
    key: GatewayKey,
    documents: DocumentWatch,
    preloads: Preloads,
    traffic: SiteTraffic,
  ) {
    this.#site = site
    this.#documents = documents
    this.#preloads = preloads
    this.#traffic = traffic
    const { headerBytes } = traffic.limits
    this.#secure = http2.createSecureServer({
      allowHTTP1: true,
      SNICallback: (_name, done) => done(null, key.secureContext),
      minVersion: 'TLSv1.3',
      maxHeaderListPairs: 256,
      maxSessionMemory: SESSION_MEMORY_MIB,
      // Node's default is slightly below what HTTP/1.1 accepts here.
      maxSendHeaderBlockLength: 2 * headerBytes,
      settings: {
        maxConcurrentStreams: MAX_STREAMS,
        maxHeaderListSize: headerBytes,
        initialWindowSize: 1024 * 1024,
      },
    })
    this.#secure.on('request', (request, response) => this.#request(request, response, 'https'))
    this.#secure.on('upgrade', (request, near, head) => this.#upgrade(request, near, head, 'https'))
    // Only affects the page that broke its connection.
    this.#secure.on('sessionError', ignore).on('tlsClientError', ignore)

    this.#plain = http.createServer({ maxHeaderSize: headerBytes })
    this.#plain.on('request', (request, response) => this.#request(request, response, 'http'))
    this.#plain.on('upgrade', (request, near, head) => this.#upgrade(request, near, head, 'http'))
  }

  /** Serves a connection that the browser has opened to the custom domain. */
  accept(socket: Duplex, scheme: Scheme): void {
    const server = scheme === 'https' ? this.#secure : this.#plain
    server.emit('connection', socket)
  }

  /** Answers a request that named the custom domain to the proxy. */
  answer(request: http.IncomingMessage, response: http.ServerResponse, path: string): void {
    if (!this.#traffic.counts.admit()) answer(response, 403, 'limit')
    else exchange(request, response, this.#upstream(request.headers, path, 'http'), this.#traffic)
  }

  /** Returns whether it is an address of the custom domain that has no response in progress. */
  isDelivered(url: string): boolean {
    const base = `https://${this.#site.name}`
    return url.startsWith(`${base}/`) && !this.#underWay.has(url.slice(base.length).split('#', 1)[0] ?? '')
  }

  /** Tells the address of each response whose head the browser gets from now on; null ends that. */
  tellBegun(tell: ((url: string) => void) | null): void {
    this.#tellBegun = tell
  }

  #request(request: PageRequest, response: PageResponse, scheme: Scheme): void {
    const { host } = request.headers
    const names = 'authority' in request ? [request.authority, host ?? request.authority] : [host]
    const path = request.url ?? ''
    const refused = this.#admit(names, path, scheme)
    if (refused !== null) {
      answer(response, refused.status, refused.why)
      return
    }
    const upstream = this.#upstream(request.headers, path, scheme)
    this.#begin(path, response)
    const { method = 'GET' } = request
    const destination = request.headers['sec-fetch-dest']
    const early =
      this.#documents.takeEarly(upstream.judge, method, upstream.headers) ??
      this.#preloads.take({ ...upstream, method, destination })
    const begun = () => this.#tellBegun?.(`${scheme}://${this.#site.name}${path}`)
    exchange(request, response, { ...upstream, early, begun }, this.#traffic)
  }

  #upgrade(request: http.IncomingMessage, near: Duplex, head: Buffer, scheme: Scheme): void {
    const path = request.url ?? ''
    const refused = this.#admit([request.headers.host], path, scheme)
    if (refused !== null) {
      answerRaw(near, refused.status, refused.why)
      return
    }
    this.#preloads.acts()
    upgrade(request, near, head, this.#upstream(request.headers, path, scheme), this.#traffic)
  }

  #upstream(headers: http.IncomingHttpHeaders, path: string, scheme: Scheme): Upstream {
    const site = this.#site
    const destination = headers['sec-fetch-dest']
    return {
      origin: site.origin,
      path,
      headers: headersForOrigin(headers, scheme, site),
      judge: this.#documents.judgeOf(destination, path),
      responseHeaders: (rawHeaders) => responseHeadersFor(destination, rawHeaders, site),
    }
  }

  /** Counts the request. Returns why it is refused, such as a name of another host or an absolute URL, or null. */
  #admit(names: readonly (string | undefined)[], path: string, scheme: Scheme) {
    if (!names.every((name) => namesOwnHost(name, scheme, this.#site)))
      return { status: 421, why: 'misdirected' }
    if (!path.startsWith('/')) return { status: 400, why: 'malformed' }
    return this.#traffic.counts.admit() ? null : { status: 403, why: 'limit' }
  }

  #begin(path: string, response: PageResponse): void {
    this.#underWay.set(path, (this.#underWay.get(path) ?? 0) + 1)
    response.once('close', () => {
      const left = (this.#underWay.get(path) ?? 0) - 1
      if (left > 0) this.#underWay.set(path, left)
      else this.#underWay.delete(path)
    })
  }
}

function ignore(): void {}

/** Returns the headers that Chromium gets. `destination` is the request's `Sec-Fetch-Dest`. */
export function responseHeadersFor(
  destination: string | string[] | undefined,
  rawHeaders: readonly string[],
  site: ProxiedSite,
): http.OutgoingHttpHeaders {
  const received = byName(rawHeaders)
  const kept: http.OutgoingHttpHeaders = headersFromOrigin(rawHeaders, site)
  const { 'cache-control': cacheControl, expires } = received
  const forBrowser = browserCacheControl(destination, { cacheControl, expires })
  if (forBrowser !== undefined) kept['cache-control'] = forBrowser
  if (cacheControl !== undefined) kept[ORIGIN_CACHE_CONTROL] = cacheControl
  const policy = browserPolicy(destination, received['content-security-policy'])
  if (policy !== undefined) kept['content-security-policy'] = policy
  return kept
}

/**
 * What Chromium may reuse in later renders. Documents and data are never kept, because a render must see the current
 * site. Scripts and style sheets need an explicit lifetime: heuristic freshness (RFC 9111, section 4.2.2) can mean
 * weeks.
 */
export function browserCacheControl(
  destination: string | string[] | undefined,
  received: { cacheControl: string | undefined; expires: string | undefined },
): string | undefined {
  if (!KEPT.has(String(destination))) return 'no-store'
  const isExplicit = /(?:^|[,\s])(?:max-age|no-cache|no-store|immutable)/i.test(received.cacheControl ?? '')
  if (isExplicit || received.expires !== undefined) return received.cacheControl
  return 'no-cache'
}

/** Values of `Sec-Fetch-Dest`. Imported modules have their importer's. */
const KEPT = new Set([
  'audioworklet',
  'font',
  'image',
  'paintworklet',
  'script',
  'sharedworker',
  'style',
  'worker',
  'xslt',
])

/**
 * Blocks fonts and media, which a snapshot does not need; data: and blob: URLs load. A site that its visitors reach by
 * http names its own files so: on our https page a browser would block them as mixed content.
 */
const NOTHING_HEAVY = 'font-src data: blob:; media-src data: blob: mediastream:; upgrade-insecure-requests'

/** Values of `Sec-Fetch-Dest` whose response is a page. */
const PAGES = new Set(['document', 'iframe', 'frame'])

/** Returns the `Content-Security-Policy` for Chromium. `received` is the origin's own, which stays in force. */
export function browserPolicy(
  destination: string | string[] | undefined,
  received: string | string[] | undefined,
): string | undefined {
  const own = received === undefined ? undefined : String(received)
  if (!PAGES.has(String(destination))) return own
  // Each policy in one header applies by itself (Content Security Policy Level 3, section 2.2.2).
  return own === undefined ? NOTHING_HEAVY : `${own}, ${NOTHING_HEAVY}`
}
