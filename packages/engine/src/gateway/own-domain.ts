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
import { answer, type ExchangeDeps, exchange, type PageRequest, type PageResponse } from './exchange.ts'
import type { Preloads } from './preload/preloads.ts'
import { namesOwnHost } from './target.ts'
import type { GatewayKey } from './tls-key.ts'
import { answerRaw, upgrade } from './upgrade.ts'

type Scheme = 'http' | 'https'

export type OwnDomain = {
  accept(socket: Duplex, scheme: Scheme): void
  answer(request: http.IncomingMessage, response: http.ServerResponse, path: string): void
  /** An address of the custom domain that has no response in progress. */
  isDelivered(url: string): boolean
}

/** HTTP/2 streams per connection. Chromium limits itself to 100 by default. */
const MAX_STREAMS = 250
const SESSION_MEMORY_MIB = 64

/** HTTP/2 is for pages with endless requests: on HTTP/1.1, six of them block a host. HTTP/1.1 is for WebSockets. */
export function createOwnDomain(
  site: ProxiedSite,
  key: GatewayKey,
  documents: Pick<DocumentWatch, 'judgeOf' | 'earlyOf'>,
  preloads: Pick<Preloads, 'take' | 'acts'>,
  deps: ExchangeDeps,
): OwnDomain {
  const { limits, counts } = deps
  const underWay = new Map<string, number>()
  const begins = (path: string, response: PageResponse) => {
    underWay.set(path, (underWay.get(path) ?? 0) + 1)
    response.once('close', () => {
      const left = (underWay.get(path) ?? 0) - 1
      if (left > 0) underWay.set(path, left)
      else underWay.delete(path)
    })
  }

  const upstream = (headers: http.IncomingHttpHeaders, path: string, scheme: Scheme) => ({
    origin: site.origin,
    path,
    headers: headersForOrigin(headers, scheme, site),
    judge: documents.judgeOf(headers['sec-fetch-dest'], path),
    responseHeaders: (rawHeaders: readonly string[]) =>
      responseHeadersFor(headers['sec-fetch-dest'], rawHeaders, site),
  })

  /** Refuses other hosts' names and absolute URLs on this connection. */
  const refusal = (names: readonly (string | undefined)[], path: string, scheme: Scheme) => {
    if (!names.every((name) => namesOwnHost(name, scheme, site))) return { status: 421, why: 'misdirected' }
    if (!path.startsWith('/')) return { status: 400, why: 'malformed' }
    return counts.admit() ? null : { status: 403, why: 'limit' }
  }

  const onRequest = (scheme: Scheme) => (request: PageRequest, response: PageResponse) => {
    const { host } = request.headers
    const names = 'authority' in request ? [request.authority, host ?? request.authority] : [host]
    const path = request.url ?? ''
    const refused = refusal(names, path, scheme)
    if (refused !== null) return answer(response, refused.status, refused.why)
    const asked = upstream(request.headers, path, scheme)
    begins(path, response)
    const { method = 'GET' } = request
    const destination = request.headers['sec-fetch-dest']
    const early =
      documents.earlyOf(asked.judge, method, asked.headers) ??
      preloads.take({ ...asked, method, destination })
    exchange(request, response, { ...asked, early }, deps)
  }

  const onUpgrade = (scheme: Scheme) => (request: http.IncomingMessage, near: Duplex, head: Buffer) => {
    const path = request.url ?? ''
    const refused = refusal([request.headers.host], path, scheme)
    if (refused !== null) return answerRaw(near, refused.status, refused.why)
    preloads.acts()
    upgrade(request, near, head, upstream(request.headers, path, scheme), deps)
  }

  const secure = http2.createSecureServer({
    allowHTTP1: true,
    SNICallback: (_name, done) => done(null, key.secureContext),
    minVersion: 'TLSv1.3',
    maxHeaderListPairs: 256,
    maxSessionMemory: SESSION_MEMORY_MIB,
    // Node's default is slightly below what HTTP/1.1 accepts here.
    maxSendHeaderBlockLength: 2 * limits.headerBytes,
    settings: {
      maxConcurrentStreams: MAX_STREAMS,
      maxHeaderListSize: limits.headerBytes,
      initialWindowSize: 1024 * 1024,
    },
  })
  secure.on('request', onRequest('https')).on('upgrade', onUpgrade('https'))
  // Only affects the page that broke its connection.
  secure.on('sessionError', ignore).on('tlsClientError', ignore)

  const plain = http.createServer({ maxHeaderSize: limits.headerBytes })
  plain.on('request', onRequest('http')).on('upgrade', onUpgrade('http'))

  return {
    accept(socket, scheme) {
      if (scheme === 'https') secure.emit('connection', socket)
      else plain.emit('connection', socket)
    },
    answer(request, response, path) {
      if (!counts.admit()) answer(response, 403, 'limit')
      else exchange(request, response, upstream(request.headers, path, 'http'), deps)
    },
    isDelivered(url) {
      const base = `https://${site.name}`
      return url.startsWith(`${base}/`) && !underWay.has(url.slice(base.length).split('#', 1)[0] ?? '')
    },
  }
}

function ignore(): void {}

/** What Chromium gets. `destination`: its `Sec-Fetch-Dest`. */
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

/** `Content-Security-Policy` for Chromium; `received`: the origin's own, which stays in force. */
export function browserPolicy(
  destination: string | string[] | undefined,
  received: string | string[] | undefined,
): string | undefined {
  const own = received === undefined ? undefined : String(received)
  if (!PAGES.has(String(destination))) return own
  // Each policy in one header applies by itself (Content Security Policy Level 3, section 2.2.2).
  return own === undefined ? NOTHING_HEAVY : `${own}, ${NOTHING_HEAVY}`
}
