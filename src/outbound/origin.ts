import { isIP, isIPv6 } from 'node:net'

/** Where a site is fetched from. */
export type Origin = {
  protocol: 'http:' | 'https:'
  /** As in a URL: IPv6 with brackets. */
  hostname: string
  port: number
  /** As the Host header of requests to it: without the scheme's own port. */
  authority: string
  /** Connections are kept by this: their owner, scheme and authority. No customer's requests use a connection of another customer. */
  key: string
}

/** Reads an `origin_url` that `checkOriginUrl` gave; throws for anything else. `owner`: of the connections to it. */
export function readOrigin(originUrl: string, owner: string | number): Origin {
  const [, scheme = '', rest = ''] = /^(https?):\/\/([^/?#]+)$/.exec(originUrl) ?? []
  const authority = parseAuthority(rest, scheme === 'https' ? DEFAULT_PORTS.https : DEFAULT_PORTS.http)
  if (authority === null) throw new Error(`origin ${originUrl}: not scheme and host`)
  return originAt(scheme as 'http' | 'https', authority, owner)
}

export function originAt(
  scheme: 'http' | 'https',
  { host, port }: Authority,
  owner: string | number,
): Origin {
  const hostname = hostInUrl(host)
  const authority = port === DEFAULT_PORTS[scheme] ? hostname : `${hostname}:${port}`
  return { protocol: `${scheme}:`, hostname, port, authority, key: `${owner} ${scheme}://${authority}` }
}

export const DEFAULT_PORTS = { http: 80, https: 443 } as const

/** A host in the one spelling that is compared and connected to. */
export type Host = { kind: 'name' | 'address'; text: string }

export type Authority = { host: Host; port: number }

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/

/**
 * Reads a host as it stands in a URL: a DNS name (lower-cased, one trailing dot
 * dropped), four decimal octets, or IPv6 in brackets. null for anything else,
 * above all for what other programs would take for an address: a name whose
 * last label is a number (127.1, 2130706433, 0x7f.1) is one to getaddrinfo.
 */
export function parseHost(raw: string): Host | null {
  if (raw.startsWith('[')) {
    const address = raw.endsWith(']') ? raw.slice(1, -1) : ''
    return isIPv6(address) && !address.includes('%') ? { kind: 'address', text: address.toLowerCase() } : null
  }
  if (isIP(raw) === 4) return { kind: 'address', text: raw }
  const name = raw.toLowerCase().replace(/\.$/, '')
  const labels = name.split('.')
  if (name.length > 253 || !labels.every((label) => LABEL.test(label))) return null
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1)!)) return null
  return { kind: 'name', text: name }
}

/** `host` or `host:port`, without user information; null when it is neither. */
export function parseAuthority(raw: string, defaultPort: number | null): Authority | null {
  const match = /^(\[[^\]]*\]|[^:@/?#\\]*)(?::(\d{1,5}))?$/.exec(raw)
  if (match === null) return null
  const host = parseHost(match[1] ?? '')
  const port = match[2] === undefined ? defaultPort : Number(match[2])
  return host === null || port === null || port < 1 || port > 65_535 ? null : { host, port }
}

/** The host as it stands in a URL or a Host header: IPv6 gets its brackets back. */
export function hostInUrl(host: Host): string {
  return host.text.includes(':') ? `[${host.text}]` : host.text
}
