import { isIP, isIPv6 } from 'node:net'
import type { Origin } from '@prepaint/contract/site-files/site.ts'

/** Returns names and values by turns; with `all` only those that passed requests get too. Never throws. */
export type OpenOriginHeaders = (
  domain: number,
  sealed: Buffer | null,
  requests: 'renders' | 'all',
) => readonly string[]

/** Reads a result of `checkOriginUrl`; throws on anything else. `owner` owns the connections. */
export function readOrigin(
  originUrl: string,
  owner: string | number,
  headers: readonly string[] = [],
): Origin {
  const [, scheme = '', rest = ''] = /^(https?):\/\/([^/?#]+)$/.exec(originUrl) ?? []
  const authority = parseAuthority(rest, scheme === 'https' ? DEFAULT_PORTS.https : DEFAULT_PORTS.http)
  if (authority === null) throw new Error(`origin ${originUrl}: not scheme and host`)
  const origin = originAt(scheme as 'http' | 'https', authority, owner)
  return headers.length === 0 ? origin : { ...origin, headers }
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

export type Host = { kind: 'name' | 'address'; text: string }

export type Authority = { host: Host; port: number }

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/

/** Reads a DNS name, IPv4 or bracketed IPv6. Returns null otherwise, above all for names like 127.1 or 0x7f.1. */
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

/** Reads `host` or `host:port` without user information. Returns null for anything else. */
export function parseAuthority(raw: string, defaultPort: number | null): Authority | null {
  const match = /^(\[[^\]]*\]|[^:@/?#\\]*)(?::(\d{1,5}))?$/.exec(raw)
  if (match === null) return null
  const host = parseHost(match[1] ?? '')
  const port = match[2] === undefined ? defaultPort : Number(match[2])
  return host === null || port === null || port < 1 || port > 65_535 ? null : { host, port }
}

export function hostInUrl(host: Host): string {
  return host.text.includes(':') ? `[${host.text}]` : host.text
}
