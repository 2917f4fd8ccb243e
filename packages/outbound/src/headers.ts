import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'

import type { Origin } from '@prepaint/contract/site-files/site.ts'
import { isOfFront } from '@prepaint/runtime/http/front-form.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'

export const VIA_NAME = 'prepaint'

/** Set on responses of the gateway itself; the value is the reason. */
export const GATEWAY_HEADER = 'x-prepaint-gateway'

/** The origin's `Cache-Control` on responses to a render, where ours replaces it. */
export const ORIGIN_CACHE_CONTROL = 'x-prepaint-cache-control'

type RawHeaders = readonly string[]

export type Front = {
  address: string
  scheme: 'http' | 'https'
  host: string
}

export type ProxiedSite = { name: string; origin: Origin }

// RFC 9110, section 7.6.1
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
  // Forbidden in HTTP/2 (RFC 7540, section 3.2.1).
  'http2-settings',
])

/** Headers about the client that only we may send to an origin. */
const OURS_TO_SAY = new Set([
  'content-length',
  'host',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-real-ip',
  'x-prepaint',
  // Keeps one ID per request, see `http/request-id.ts`.
  'x-request-id',
  'via',
])

/** Dropped from pages, which could otherwise impersonate our proxies. */
const FORWARDING = /^(?:forwarded|via|x-forwarded-.*|x-real-ip)$/

type Message = { httpVersion: string; rawHeaders: string[] }

/** Headers of a passed request, in the order, spelling and repetition of the client. `framing` delimits the body. */
export function requestHeaders(req: Message, front: Front, origin: Origin, framing: string[]): string[] {
  const headers = ['Host', origin.authority]
  const own = origin.headers ?? []
  const ours = own.length === 0 ? OURS_TO_SAY : new Set([...OURS_TO_SAY, ...namesOf(own)])
  const { kept, via, trailer, acceptsTrailers } = withoutHops(req.rawHeaders, ours)
  appendWithoutFrontHeaders(headers, kept)
  headers.push(...own)
  headers.push('X-Forwarded-For', front.address)
  headers.push('X-Forwarded-Proto', front.scheme)
  headers.push('X-Forwarded-Host', front.host)
  headers.push('Forwarded', forwarded(front))
  headers.push('Via', withUs(via, req))
  if (!framing.includes('Upgrade')) {
    if (acceptsTrailers) headers.push('TE', 'trailers', 'Connection', 'keep-alive, TE')
    else headers.push('Connection', 'keep-alive')
  }
  if (framing.includes('chunked')) headers.push(...trailer)
  headers.push(...framing)
  return headers
}

/** What a site's front sends us, above all its key, is not for the origin. */
function appendWithoutFrontHeaders(headers: string[], list: RawHeaders): void {
  for (let at = 0; at < list.length; at += 2) {
    if (!isOfFront(lowerCaseName(list[at]!))) headers.push(list[at]!, list[at + 1]!)
  }
}

/** Most requests have the same names: to find one costs half of what a new string costs, and a known string is found faster in sets. */
const lowerCaseNames = new RecentMap<string>({ limit: 2_000 })
/** A longer name is not remembered. */
const NAME_CHARS = 100

function lowerCaseName(name: string): string {
  const known = lowerCaseNames.get(name)
  if (known !== undefined) return known
  if (name.length > NAME_CHARS) return name.toLowerCase()
  // A copy: the name may be a slice that keeps a whole head in memory, and may be in lower case itself.
  const copy = Buffer.from(name, 'latin1').toString('latin1')
  const lower = copy.toLowerCase()
  lowerCaseNames.set(copy, lower)
  return lower
}

function namesOf(headers: RawHeaders): string[] {
  return headers.filter((_text, at) => at % 2 === 0).map((name) => name.toLowerCase())
}

/** RFC 7239: the same data as the X-Forwarded headers. */
function forwarded({ address, scheme, host }: Front): string {
  let node = address
  if (address === '') node = 'unknown'
  else if (address.includes(':')) node = `"[${address}]"`
  const named = /^[\w.-]+$/.test(host) ? host : `"${host.replace(/[^\w.:[\]-]/g, '')}"`
  return `for=${node};host=${named};proto=${scheme}`
}

/** Returns `Via` with the message's protocol and our name behind those of others (RFC 9110, section 7.6.3). */
function withUs(others: readonly string[], { httpVersion }: Message): string {
  const ours = `${httpVersion === '2.0' ? '2' : httpVersion} ${VIA_NAME}`
  return others.length === 0 ? ours : `${others.join(', ')}, ${ours}`
}

/** Returns the headers of our own GETs, which must not look like a crawler's, nor force https. */
export function ownRequestHeaders({ name, origin }: ProxiedSite): string[] {
  const headers = ['Host', origin.authority, 'Via', `1.1 ${VIA_NAME}`]
  headers.push('X-Forwarded-Host', name, 'X-Forwarded-Proto', 'https', ...(origin.headers ?? []))
  return headers
}

/** Returns what a page sends to another host. */
export function headersForOther(headers: IncomingHttpHeaders, host: string): OutgoingHttpHeaders {
  const named = namedAsHops(headers.connection ?? '')
  const kept: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(':') || name === 'expect') continue
    if (!HOP_BY_HOP.has(name) && !named?.has(name)) kept[name] = value
  }
  return { ...kept, host }
}

/** Returns what a page sends to its own site. `Via` reveals loops; `X-Prerender` stops the site's middleware from a detour to us. */
export function headersForOrigin(
  headers: IncomingHttpHeaders,
  scheme: 'http' | 'https',
  { name, origin }: ProxiedSite,
): OutgoingHttpHeaders {
  const kept = headersForOther(headers, origin.authority)
  for (const header of Object.keys(kept)) if (FORWARDING.test(header)) delete kept[header]
  kept['via'] = `1.1 ${VIA_NAME}`
  kept['x-prerender'] = '1'
  kept['x-forwarded-host'] = name
  kept['x-forwarded-proto'] = scheme
  return { ...kept, ...byName(origin.headers ?? []) }
}

/** Returns what a client gets of the origin's response to a request that passed. */
export function responseHeaders(
  answer: Message & { statusCode?: number | undefined },
  front: Front,
  site: ProxiedSite,
  verdict: string,
): string[] {
  const dropped = answer.statusCode === 204 ? NOT_IN_204 : NOT_FROM_ORIGINS
  const { kept, via } = withoutHops(answer.rawHeaders, dropped)
  rewrite(kept, front, site)
  kept.push('Via', withUs(via, answer), ...verdictHeaders(verdict))
  return kept
}

/** Returns what says that a request passed. `X-Prerender-Throttled` says that it did so because the quota is used up. */
export function verdictHeaders(verdict: string): string[] {
  const headers = ['X-Prepaint', verdict]
  if (verdict === 'pass; over-quota') headers.push('X-Prerender-Throttled', 'true')
  return headers
}

/** `Alt-Svc` names the origin's ports, which our clients cannot reach. */
const NOT_FROM_ORIGINS = new Set([
  'via',
  'x-prepaint',
  'x-prepaint-form',
  'x-prepaint-variant',
  'x-prerender-reject-reason',
  'x-prerender-requestid',
  'x-prerender-throttled',
  'x-prerender-user-id',
  'x-request-id',
  'alt-svc',
])
/** RFC 9110, section 8.6 */
const NOT_IN_204 = new Set([...NOT_FROM_ORIGINS, 'content-length'])

/** Returns what a page gets from another host. */
export function headersFromOther(raw: RawHeaders): IncomingHttpHeaders {
  return byName(withoutHops(raw, NOT_TO_PAGES).kept)
}

/** Returns what a page gets from its own site. */
export function headersFromOrigin(raw: RawHeaders, site: ProxiedSite): IncomingHttpHeaders {
  const { kept } = withoutHops(raw, NOT_FROM_SITE_TO_PAGES)
  rewrite(kept, { address: '', scheme: 'https', host: site.name }, site)
  return byName(kept)
}

const NOT_TO_PAGES = new Set([GATEWAY_HEADER, ORIGIN_CACHE_CONTROL])
/** Chromium would keep client hints across renders, and restart navigations with an internal redirect. */
const NOT_FROM_SITE_TO_PAGES = new Set([...NOT_TO_PAGES, 'alt-svc', 'accept-ch', 'critical-ch'])

/** Repeated headers whose first value counts, as in node:http. */
const FIRST_COUNTS = new Set([
  'age',
  'content-length',
  'content-type',
  'etag',
  'expires',
  'last-modified',
  'location',
  'retry-after',
  'server',
])

/** Returns headers by lower-case name. Repeated headers are joined, except cookies. */
export function byName(raw: RawHeaders): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {}
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase()
    const value = raw[at + 1]!
    if (name === 'set-cookie') {
      headers['set-cookie'] ??= []
      headers['set-cookie'].push(value)
    } else if (!Object.hasOwn(headers, name)) headers[name] = value
    else if (!FIRST_COUNTS.has(name)) headers[name] = `${headers[name] as string}, ${value}`
  }
  return headers
}

/**
 * A header's text, where Node has given one character for each byte: servers write UTF-8 there (RFC 9110, section 5.5,
 * leaves it open). Text that is already decoded stays.
 */
export function textOfHeader(value: string): string {
  if (!/[\x80-\xff]/.test(value) || /[^\x00-\xff]/.test(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : value
}

/** A text as a header that Node can send: one character for each byte of UTF-8. */
export function headerOfText(text: string): string {
  return /[^\x00-\x7f]/.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text
}

// RFC 9110, sections 5.1 and 5.5. Rejects characters that could split a line or a word.
const NOT_IN_NAMES = /[^!#$%&'*+\-.^_`|~0-9A-Za-z]/
const NOT_IN_VALUES = /[^\t\x20-\x7e\x80-\xff]/

/**
 * Returns the lines of a head, each with its line break. Throws on a name or value that no line can say. All names and all values
 * are checked at once, which takes half of the time.
 */
export function checkedLines(headers: RawHeaders): string {
  let lines = ''
  let names = ''
  let values = ''
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at]!
    const value = headers[at + 1]!
    if (name === '') throw new TypeError('A header has no name')
    names += name
    values += value
    lines += `${name}: ${value}\r\n`
  }
  if (NOT_IN_NAMES.test(names) || NOT_IN_VALUES.test(values)) throw new TypeError('No header can say this')
  return lines
}

export function flatHeaders(headers: OutgoingHttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined) return []
    return Array.isArray(value) ? value.flatMap((text) => [name, text]) : [name, `${value}`]
  })
}

/** Replaces the origin's own address in headers of its response, in place. */
function rewrite(headers: string[], front: Front, site: ProxiedSite): void {
  for (let at = 0; at < headers.length; at += 2) {
    const rewritten = REWRITTEN.get(lowerCaseName(headers[at]!))
    if (rewritten !== undefined) headers[at + 1] = rewritten(headers[at + 1]!, front, site)
  }
}

const REWRITTEN = new Map<string, (value: string, front: Front, site: ProxiedSite) => string>([
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
  ['set-cookie', (value, _front, site) => publicCookie(value, site)],
])

/** Trailers without framing, routing and authentication fields (RFC 9110, section 6.5.1). */
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

/** Maps URLs on the origin's host to the custom domain, except those on another non-default port. */
function publicLocation(location: string, front: Front, { origin, name }: ProxiedSite): string {
  if (!/^\s*(?:https?:)?\/\//i.test(location)) return location
  const base = `${origin.protocol}//${origin.authority}`
  if (!URL.canParse(location, base)) return location
  const url = new URL(textOfHeader(location), base)
  if (url.hostname !== origin.hostname || url.hostname === name) return location
  if (url.port !== '' && url.host !== origin.authority) return location
  const place =
    url.protocol === origin.protocol ? `${front.scheme}://${front.host}` : `${url.protocol}//${name}`
  return `${place}${url.pathname}${url.search}${url.hash}`
}

/**
 * Maps a stored redirect for a client that requested `url`. Only the client knows its scheme and port, so same-site
 * targets become paths. Redirects that change only the scheme stay absolute.
 */
export function storedLocation(location: string, url: string, front: Front, site: ProxiedSite): string {
  const own = `https://${site.name}`
  if (!location.startsWith(`${own}/`)) return publicLocation(location, front, site)
  const place = location.slice(own.length)
  // `//x` and `/\x` would lead to another host.
  return /^\/[/\\]/.test(place) || place.split('#', 1)[0] === url ? location : place
}

/** Rewrites a `Domain` that covers the origin but not the custom domain. */
function publicCookie(cookie: string, { origin, name }: ProxiedSite): string {
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
  const named = namedInConnection(raw)
  const found: Kept = { kept: [], via: [], trailer: [], acceptsTrailers: false }
  for (let at = 0; at < raw.length; at += 2) {
    const name = lowerCaseName(raw[at]!)
    const value = raw[at + 1]!
    if (name === 'via') found.via.push(value)
    else if (name === 'trailer') found.trailer.push(raw[at]!, value)
    else if (name === 'te' && /(?:^|,)\s*trailers\s*(?:;|,|$)/i.test(value)) found.acceptsTrailers = true
    if (HOP_BY_HOP.has(name) || named?.has(name) || dropped.has(name)) continue
    found.kept.push(raw[at]!, value)
  }
  return found
}

function namedInConnection(raw: RawHeaders): Set<string> | null {
  let named: Set<string> | null = null
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]!.length !== 'connection'.length || raw[at]!.toLowerCase() !== 'connection') continue
    named = namedAsHops(raw[at + 1]!, named)
  }
  return named
}

// A client could list these as hop-by-hop to remove them (RFC 9110, section 7.6.1).
const NEVER_HOPS = ['host', 'content-length', 'content-type', 'cookie', 'authorization']

/** Adds the header names that `Connection` lists to `before`. Returns null if there are none, as for the usual values. */
function namedAsHops(connection: string, before: Set<string> | null = null): Set<string> | null {
  if (connection === '' || connection === 'keep-alive' || connection === 'close') return before
  const named = before ?? new Set<string>()
  for (const name of connection.toLowerCase().split(',')) named.add(name.trim())
  for (const name of NEVER_HOPS) named.delete(name)
  return named
}
