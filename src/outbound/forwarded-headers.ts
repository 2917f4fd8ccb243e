import { VIA_NAME } from '../edge/request/decide.ts'
import type { EdgeDomain, Origin } from '../edge/request/domain.ts'

/** A flat list as in `rawHeaders`: name, value, name, value ... */
type RawHeaders = readonly string[]

/** The request as the client sees it. */
export type Front = {
  /** Of the client, as the socket says. */
  address: string
  scheme: 'http' | 'https'
  /** The `Host` that the client sent. */
  host: string
}

// RFC 9110, section 7.6.1: they speak of one connection, not of the message.
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // RFC 7540, section 3.2.1; nothing may carry it in HTTP/2.
  'http2-settings',
])

// What a client could say about itself; we say it instead.
const OURS_TO_SAY = new Set([
  // How the body is delimited is said once, in `framing`.
  'content-length',
  'host',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-real-ip',
  'x-prepaint',
  // How a request is called is said on both sides of us the same, see `http/request-id.ts`.
  'x-request-id',
  'via',
])

/** One side's message, as node or `Http2Request` gives it. */
type Message = { httpVersion: string; rawHeaders: string[] }

/**
 * Headers of a request on its way to the origin, built from what really stood
 * there (order, spelling and repetition stay). `framing` says how the body is
 * delimited on this connection.
 */
export function requestHeaders(req: Message, front: Front, origin: Origin, framing: string[]): string[] {
  const headers = ['Host', origin.authority]
  const { kept, via, trailer, acceptsTrailers } = withoutHops(req.rawHeaders, OURS_TO_SAY)
  headers.push(...kept)
  headers.push('X-Forwarded-For', front.address)
  headers.push('X-Forwarded-Proto', front.scheme)
  headers.push('X-Forwarded-Host', front.host)
  headers.push('Forwarded', forwarded(front))
  headers.push('Via', [...via, `${hop(req)} ${VIA_NAME}`].join(', '))
  if (!framing.includes('Upgrade')) {
    if (acceptsTrailers) headers.push('TE', 'trailers', 'Connection', 'keep-alive, TE')
    else headers.push('Connection', 'keep-alive')
  }
  if (framing.includes('chunked')) headers.push(...trailer)
  headers.push(...framing)
  return headers
}

/** RFC 7239: what the X-Forwarded headers say, once more. */
function forwarded({ address, scheme, host }: Front): string {
  const node = address === '' ? 'unknown' : address.includes(':') ? `"[${address}]"` : address
  const named = /^[\w.-]+$/.test(host) ? host : `"${host.replace(/[^\w.:[\]-]/g, '')}"`
  return `for=${node};host=${named};proto=${scheme}`
}

/** The protocol that a message came by, as `Via` names it (RFC 9110, section 7.6.3). */
function hop({ httpVersion }: Message): string {
  return httpVersion === '2.0' ? '2' : httpVersion
}

/** Headers of the origin's answer on their way to the client. */
export function responseHeaders(
  answer: Message & { statusCode?: number | undefined },
  front: Front,
  domain: EdgeDomain,
  verdict: string,
): string[] {
  const { kept, via } = withoutHops(
    answer.rawHeaders,
    answer.statusCode === 204 ? NOT_IN_204 : NOT_FROM_ORIGINS,
  )
  for (let at = 0; at < kept.length; at += 2) {
    const rewrite = REWRITTEN.get(kept[at]!.toLowerCase())
    if (rewrite !== undefined) kept[at + 1] = rewrite(kept[at + 1]!, front, domain)
  }
  kept.push('Via', [...via, `${hop(answer)} ${VIA_NAME}`].join(', '), 'X-Prepaint', verdict)
  return kept
}

/** What names the origin's own host by its URL, and would lead people past us. */
const REWRITTEN = new Map<string, (value: string, front: Front, domain: EdgeDomain) => string>([
  ['location', publicLocation],
  ['content-location', publicLocation],
  [
    'refresh',
    // `5; url=https://...`
    (value, ...where) =>
      value.replace(/(url\s*=\s*["']?)([^"']+)/i, (_all, before: string, url: string) => {
        return before + publicLocation(url, ...where)
      }),
  ],
  [
    'link',
    (value, ...where) =>
      value.replace(/<([^>]*)>/g, (_all, url: string) => `<${publicLocation(url, ...where)}>`),
  ],
  ['set-cookie', (value, _front, domain) => publicCookie(value, domain)],
])

/** Trailers, either way: nothing that says how a message is read, whom it is for or from (RFC 9110, section 6.5.1). */
export function passedTrailers(raw: RawHeaders): [string, string][] {
  const pairs: [string, string][] = []
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase()
    if (!HOP_BY_HOP.has(name) && !OURS_TO_SAY.has(name) && !NOT_IN_TRAILERS.test(name)) {
      pairs.push([raw[at]!, raw[at + 1]!])
    }
  }
  return pairs
}

const NOT_IN_TRAILERS =
  /^(?:content-.*|cookie|set-cookie|authorization|location|alt-svc|cache-control|expect|max-forwards|range|vary|if-.*|:.*)$/

/** `Alt-Svc` speaks of the origin's own doors: of ours, nobody knows them. */
const NOT_FROM_ORIGINS = new Set(['via', 'x-prepaint', 'x-request-id', 'alt-svc'])
/** There is nothing to be counted (RFC 9110, section 8.6). */
const NOT_IN_204 = new Set([...NOT_FROM_ORIGINS, 'content-length'])

/**
 * A reference that leads to the origin's own host, led to the custom domain
 * instead; any other as it is. A change of scheme is the origin's wish and stays one.
 */
export function publicLocation(location: string, front: Front, domain: EdgeDomain): string {
  const { origin, name } = domain
  if (!/^(?:https?:)?\/\//i.test(location)) return location
  const base = `${origin.protocol}//${origin.authority}`
  if (!URL.canParse(location, base)) return location
  const url = new URL(location, base)
  if (url.hostname !== origin.hostname || url.hostname === name) return location
  // Another port of the origin's machine is another site, but for the scheme's own.
  const sameScheme = url.protocol === origin.protocol
  if (sameScheme ? url.host !== origin.authority : url.port !== '') return location
  const place = sameScheme ? `${front.scheme}://${front.host}` : `${url.protocol}//${name}`
  return `${place}${url.pathname}${url.search}${url.hash}`
}

/**
 * Where a stored redirect leads for a client that asked for `url`. Renders see
 * every site as https://<custom domain>; which scheme and port the client uses,
 * only the client knows (a proxy before us may speak https for us). So what
 * stays on the site is a path, but for a redirect that changes only the scheme.
 */
export function storedLocation(location: string, url: string, front: Front, domain: EdgeDomain): string {
  const site = `https://${domain.name}`
  if (!location.startsWith(`${site}/`)) return publicLocation(location, front, domain)
  const place = location.slice(site.length)
  // `//x` and `/\x` would be another host.
  return /^\/[/\\]/.test(place) || place.split('#', 1)[0] === url ? location : place
}

/** A cookie for the origin's host, or for a name above it that the custom domain is not below. */
function publicCookie(cookie: string, { origin, name }: EdgeDomain): string {
  return cookie.replace(/(;\s*domain\s*=\s*)\.?([^;\s]+)/gi, (whole, attribute: string, given: string) => {
    const host = given.toLowerCase()
    const own = host === origin.hostname || (isBelow(origin.hostname, host) && !isBelow(name, host))
    return own && host !== name ? `${attribute}${name}` : whole
  })
}

function isBelow(name: string, host: string): boolean {
  return name.endsWith(`.${host}`)
}

type Kept = { kept: string[]; via: string[]; trailer: string[]; acceptsTrailers: boolean }

function withoutHops(raw: RawHeaders, dropped: ReadonlySet<string>): Kept {
  const named = namedAsHops(raw)
  const found: Kept = { kept: [], via: [], trailer: [], acceptsTrailers: false }
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase()
    const value = raw[at + 1]!
    if (name === 'via') found.via.push(value)
    else if (name === 'trailer') found.trailer.push(raw[at]!, value)
    else if (name === 'te' && /(?:^|,)\s*trailers\s*(?:;|,|$)/i.test(value)) found.acceptsTrailers = true
    if (HOP_BY_HOP.has(name) || named?.has(name) || dropped.has(name)) continue
    found.kept.push(raw[at]!, value)
  }
  return found
}

/** What `Connection` names; null where it is the usual one, which names nothing else. */
function namedAsHops(raw: RawHeaders): Set<string> | null {
  let named: Set<string> | null = null
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]!.length !== 'connection'.length || raw[at]!.toLowerCase() !== 'connection') continue
    const value = raw[at + 1]!
    if (value === 'keep-alive' || value === 'close') continue
    named ??= new Set()
    for (const name of value.toLowerCase().split(',')) named.add(name.trim())
  }
  // Whoever lists these as hop-by-hop wants us to lose them, not to be polite (RFC 9110, section 7.6.1).
  for (const name of ['host', 'content-length', 'content-type', 'cookie', 'authorization'])
    named?.delete(name)
  return named
}
