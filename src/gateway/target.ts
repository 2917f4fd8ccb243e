import { type Authority, hostInUrl, parseAuthority } from '../outbound/origin-url.ts'
import type { RefusalReason } from './request-counts.ts'

/** The site whose page is behind a listener: its public name and where it is fetched from. */
export type Site = {
  /** Lower case, ASCII. */
  customDomain: string
  origin: { scheme: 'http' | 'https'; authority: Authority }
}

/** Where a request of the page leads. `own`: the custom domain, fetched from its origin. */
export type Target =
  | { kind: 'own'; scheme: 'http' | 'https' }
  | { kind: 'other'; authority: Authority }
  | { kind: 'refused'; why: RefusalReason }

const SCHEME_PORTS = { http: 80, https: 443 } as const

/** Reads a checked `origin_url`. Throws when it was not checked. */
export function readSite(customDomain: string, originUrl: string): Site {
  const [, scheme = '', rest = ''] = /^(https?):\/\/([^/?#]+)$/.exec(originUrl) ?? []
  if (scheme !== 'http' && scheme !== 'https') throw new Error(`origin ${originUrl}: not scheme and host`)
  const authority = parseAuthority(rest, SCHEME_PORTS[scheme])
  if (authority === null) throw new Error(`origin ${originUrl}: not scheme and host`)
  return { customDomain: customDomain.toLowerCase(), origin: { scheme, authority } }
}

/** Target of `CONNECT host:port`; `raw` is what stood in the request line. */
export function connectTarget(raw: string, site: Site): Target {
  const authority = parseAuthority(raw, null)
  if (authority === null) return { kind: 'refused', why: 'malformed' }
  if (authority.host.text === site.customDomain) {
    if (authority.port === SCHEME_PORTS.https) return { kind: 'own', scheme: 'https' }
    // A ws: address; plain http: pages come as whole requests.
    if (authority.port === SCHEME_PORTS.http) return { kind: 'own', scheme: 'http' }
    return { kind: 'refused', why: 'port' }
  }
  return otherTarget(authority, site)
}

/** Target of a request in absolute form, and what to ask there. */
export function requestTarget(raw: string, site: Site): { target: Target; path: string } {
  const [, scheme, rest = '', path = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^#]*)$/i.exec(raw) ?? []
  if (scheme === undefined) return { target: { kind: 'refused', why: 'malformed' }, path: '' }
  if (scheme.toLowerCase() !== 'http') return { target: { kind: 'refused', why: 'scheme' }, path: '' }
  const authority = parseAuthority(rest, SCHEME_PORTS.http)
  if (authority === null) return { target: { kind: 'refused', why: 'malformed' }, path: '' }
  const asked = path.startsWith('/') ? path : `/${path}`
  if (authority.host.text !== site.customDomain) return { target: otherTarget(authority, site), path: asked }
  const own = authority.port === SCHEME_PORTS.http
  return { target: own ? { kind: 'own', scheme: 'http' } : { kind: 'refused', why: 'port' }, path: asked }
}

/** Whether a Host header or `:authority` inside the custom domain's own connection names that domain. */
export function namesOwnHost(raw: string | undefined, scheme: 'http' | 'https', site: Site): boolean {
  const authority = parseAuthority(raw ?? '', SCHEME_PORTS[scheme])
  return authority?.host.text === site.customDomain && authority.port === SCHEME_PORTS[scheme]
}

/** `host` or `host:port` as a Host header has it: the scheme's own port is left out. */
export function hostHeader({ host, port }: Authority, scheme: 'http' | 'https'): string {
  return port === SCHEME_PORTS[scheme] ? hostInUrl(host) : `${hostInUrl(host)}:${port}`
}

/** Web ports for everybody; another port only where the origin itself is served on it. */
function otherTarget(authority: Authority, { origin }: Site): Target {
  const { host, port } = authority
  const web = port === SCHEME_PORTS.http || port === SCHEME_PORTS.https
  const ofOrigin = host.text === origin.authority.host.text && port === origin.authority.port
  return web || ofOrigin ? { kind: 'other', authority } : { kind: 'refused', why: 'port' }
}
