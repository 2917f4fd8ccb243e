import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { hostHeader, type Site } from '../gateway/target.ts'
import { parseAuthority } from './origin-url.ts'

/** On every answer that the gateway itself gives instead of the origin; its value says why. */
export const GATEWAY_HEADER = 'x-prepaint-gateway'

/** On an answer of the origin: its own `Cache-Control`, in whose place stands what our browser may keep. */
export const ORIGIN_CACHE_CONTROL = 'x-prepaint-cache-control'

/** RFC 9110, section 7.6.1, and what older programs treat so. */
const HOP_BY_HOP = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What only a proxy may say. A page could set these too, and would speak as one of ours. */
const FORWARDING = /^(?:forwarded|via|x-forwarded-.*|x-real-ip)$/

/** Headers that go on to the next server: no hop-by-hop ones, none that `Connection` names, no pseudo-headers. */
function endToEnd(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
  const kept: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(':') || HOP_BY_HOP.has(name) || named.has(name)) continue
    kept[name] = value
  }
  return kept
}

/** Request headers for a host that is none of ours. */
export function headersForOther(headers: IncomingHttpHeaders, host: string): OutgoingHttpHeaders {
  const { expect: _answeredHere, ...kept } = endToEnd(headers)
  return { ...kept, host }
}

/**
 * Request headers for the origin, as the edge sends them for people. `Via` lets
 * an edge of ours that stands at the end of this (an origin that points back to
 * its own domain) recognise the loop; by `X-Prerender` middlewares of the site,
 * which send crawlers to us, know that they must not send this back.
 */
export function headersForOrigin(
  headers: IncomingHttpHeaders,
  scheme: 'http' | 'https',
  { customDomain, origin }: Site,
): OutgoingHttpHeaders {
  const kept = headersForOther(headers, hostHeader(origin.authority, origin.scheme))
  for (const name of Object.keys(kept)) if (FORWARDING.test(name)) delete kept[name]
  kept['via'] = '1.1 prepaint'
  kept['x-prerender'] = '1'
  kept['x-forwarded-host'] = customDomain
  kept['x-forwarded-proto'] = scheme
  return kept
}

/** Response headers of a host that is none of ours. */
export function headersFromOther(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept = endToEnd(headers)
  delete kept[GATEWAY_HEADER]
  delete kept[ORIGIN_CACHE_CONTROL]
  return kept
}

/** Response headers of the origin, with its own name replaced by the custom domain. */
export function headersFromOrigin(headers: IncomingHttpHeaders, site: Site): OutgoingHttpHeaders {
  const kept = headersFromOther(headers)
  // It names a port of the origin; Chromium reaches the custom domain through here only.
  delete kept['alt-svc']
  // Would be remembered from one render to the next; by the second Chromium answers itself with a redirect to the same page.
  delete kept['accept-ch']
  delete kept['critical-ch']
  if (headers.location !== undefined) kept['location'] = publicLocation(headers.location, site)
  const cookies = headers['set-cookie']
  if (cookies !== undefined) kept['set-cookie'] = cookies.map((cookie) => publicCookie(cookie, site))
  return kept
}

/** A Location at the origin's host leads to the custom domain instead; any other is left as it is. */
export function publicLocation(location: string, { customDomain, origin }: Site): string {
  const match = /^(?:(https?):)?\/\/([^/?#\\]*)(.*)$/is.exec(location.trim())
  if (match === null) return location
  const [, scheme = origin.scheme, host = '', rest = ''] = match
  const authority = parseAuthority(host, scheme.toLowerCase() === 'https' ? 443 : 80)
  const { port } = origin.authority
  if (authority?.host.text !== origin.authority.host.text) return location
  // http://origin to https://origin is the same site, another port is another.
  if (authority.port !== port && authority.port !== 80 && authority.port !== 443) return location
  return `https://${customDomain}${rest}`
}

/** A cookie for the origin's host or a parent of it becomes one for the custom domain. */
export function publicCookie(cookie: string, { customDomain, origin }: Site): string {
  return cookie.replace(/;\s*domain\s*=\s*([^;]*)/gi, (attribute, value: string) => {
    const domain = value.trim().toLowerCase().replace(/^\./, '')
    const host = origin.authority.host.text
    return domain !== '' && (host === domain || host.endsWith(`.${domain}`))
      ? `; Domain=${customDomain}`
      : attribute
  })
}
