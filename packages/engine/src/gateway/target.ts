import type { Origin } from '@prepaint/contract/site-files/site.ts'
import {
  type Authority,
  DEFAULT_PORTS,
  hostInUrl,
  originAt,
  parseAuthority,
  readOrigin,
} from '@prepaint/outbound'
import type { ProxiedSite } from '@prepaint/outbound/headers'

export type Target =
  | { kind: 'own'; scheme: 'http' | 'https' }
  | { kind: 'other'; origin: Origin }
  | { kind: 'refused'; why: 'malformed' | 'scheme' | 'port' }

/** Throws unless `origin_url` was checked. */
export function readSite(
  customDomain: string,
  originUrl: string,
  originHeaders: readonly string[] = [],
): ProxiedSite {
  const name = customDomain.toLowerCase()
  return { name, origin: readOrigin(originUrl, name, originHeaders) }
}

export function connectTarget(raw: string, site: ProxiedSite): Target {
  const authority = parseAuthority(raw, null)
  if (authority === null) return { kind: 'refused', why: 'malformed' }
  if (authority.host.text === site.name) {
    if (authority.port === DEFAULT_PORTS.https) return { kind: 'own', scheme: 'https' }
    // A ws: URL. Plain http requests are not tunnelled.
    if (authority.port === DEFAULT_PORTS.http) return { kind: 'own', scheme: 'http' }
    return { kind: 'refused', why: 'port' }
  }
  return otherTarget(authority, site)
}

export function requestTarget(raw: string, site: ProxiedSite): { target: Target; path: string } {
  const [, scheme, rest = '', path = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^#]*)$/i.exec(raw) ?? []
  if (scheme === undefined) return { target: { kind: 'refused', why: 'malformed' }, path: '' }
  if (scheme.toLowerCase() !== 'http') return { target: { kind: 'refused', why: 'scheme' }, path: '' }
  const authority = parseAuthority(rest, DEFAULT_PORTS.http)
  if (authority === null) return { target: { kind: 'refused', why: 'malformed' }, path: '' }
  const asked = path.startsWith('/') ? path : `/${path}`
  if (authority.host.text !== site.name) return { target: otherTarget(authority, site), path: asked }
  const own = authority.port === DEFAULT_PORTS.http
  return { target: own ? { kind: 'own', scheme: 'http' } : { kind: 'refused', why: 'port' }, path: asked }
}

/** Returns whether a Host header or `:authority` names the connection's own domain. */
export function namesOwnHost(raw: string | undefined, scheme: 'http' | 'https', site: ProxiedSite): boolean {
  const authority = parseAuthority(raw ?? '', DEFAULT_PORTS[scheme])
  return authority?.host.text === site.name && authority.port === DEFAULT_PORTS[scheme]
}

/** Other hosts may be reached at the ports of the web, and at the port of the site's origin. */
function otherTarget(authority: Authority, { origin }: ProxiedSite): Target {
  const { host, port } = authority
  const isWeb = port === DEFAULT_PORTS.http || port === DEFAULT_PORTS.https
  const isOrigin = hostInUrl(host) === origin.hostname && port === origin.port
  if (!isWeb && !isOrigin) return { kind: 'refused', why: 'port' }
  return { kind: 'other', origin: originAt('http', authority, 'other') }
}
