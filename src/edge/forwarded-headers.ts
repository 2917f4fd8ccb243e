import { VIA_NAME } from './decide.ts'
import type { EdgeDomain, Origin } from './domain.ts'

/** A flat list as in `rawHeaders`: name, value, name, value ... */
export type RawHeaders = readonly string[]

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
  'via',
])

/**
 * Headers of a request on its way to the origin, built from what really stood
 * there (order, spelling and repetition stay). `framing` says how the body is
 * delimited on this connection.
 */
export function requestHeaders(raw: RawHeaders, front: Front, origin: Origin, framing: string[]): string[] {
  const headers = ['Host', origin.authority]
  const { kept, via } = withoutHops(raw, OURS_TO_SAY)
  headers.push(...kept)
  headers.push('X-Forwarded-For', front.address)
  headers.push('X-Forwarded-Proto', front.scheme)
  headers.push('X-Forwarded-Host', front.host)
  headers.push('Via', [...via, `1.1 ${VIA_NAME}`].join(', '))
  headers.push(...framing)
  return headers
}

/** Headers of the origin's answer on their way to the client. */
export function responseHeaders(
  raw: RawHeaders,
  front: Front,
  domain: EdgeDomain,
  verdict: string,
): string[] {
  const { kept, via } = withoutHops(raw, NOT_FROM_ORIGINS)
  for (let at = 0; at < kept.length; at += 2) {
    const name = kept[at]!.toLowerCase()
    if (name === 'location' || name === 'content-location') {
      kept[at + 1] = publicLocation(kept[at + 1]!, front, domain)
    } else if (name === 'set-cookie') {
      kept[at + 1] = publicCookie(kept[at + 1]!, domain)
    }
  }
  kept.push('Via', [...via, `1.1 ${VIA_NAME}`].join(', '), 'X-Prepaint', verdict)
  return kept
}

const NOT_FROM_ORIGINS = new Set(['via', 'x-prepaint'])

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

function publicCookie(cookie: string, { origin, name }: EdgeDomain): string {
  return cookie.replace(/(;\s*domain\s*=\s*)\.?([^;\s]+)/gi, (whole, attribute: string, host: string) =>
    host.toLowerCase() === origin.hostname ? `${attribute}${name}` : whole,
  )
}

function withoutHops(raw: RawHeaders, dropped: ReadonlySet<string>): { kept: string[]; via: string[] } {
  const named = new Set<string>()
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]!.toLowerCase() !== 'connection') continue
    for (const name of raw[at + 1]!.toLowerCase().split(',')) named.add(name.trim())
  }
  // Whoever lists these as hop-by-hop wants us to lose them, not to be polite (RFC 9110, section 7.6.1).
  for (const name of ['host', 'content-length', 'content-type', 'cookie', 'authorization']) named.delete(name)

  const kept: string[] = []
  const via: string[] = []
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase()
    if (name === 'via') via.push(raw[at + 1]!)
    if (HOP_BY_HOP.has(name) || named.has(name) || dropped.has(name)) continue
    kept.push(raw[at]!, raw[at + 1]!)
  }
  return { kept, via }
}
