import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

/** As `ipaddr.parseCIDR` gives them. */
export type AddressRanges = readonly [ipaddr.IPv4 | ipaddr.IPv6, number][]

/** Who really asks, as far as those whom we trust can tell. */
export type Client = {
  /** IPv4 in four decimal octets (also where the socket is one of IPv6), or IPv6 in its shortest form, without a zone. */
  address: string
  scheme: 'http' | 'https'
}

/** A request of HTTP/1.1 or HTTP/2, or a handshake. */
type Asked = {
  headers: IncomingHttpHeaders
  socket: { remoteAddress?: string | undefined; encrypted?: unknown }
}

/** Never throws; where nothing can be read, the address is that of the socket, `''` once that has closed. */
export type ReadClient = (request: Asked) => Client

/**
 * `trusted` are proxies of the operator, such as a TLS terminator: what they
 * say about their client is believed. Reads who asks: the socket's other end; when that is a trusted proxy, the
 * right-most entry of `X-Forwarded-For` that no trusted proxy stands at. What
 * is further left was written by that client, and is not read. The scheme is
 * the entry of `X-Forwarded-Proto` at the same place (most proxies send one in
 * all). `Forwarded`, `X-Real-IP` and `X-Forwarded-Host` are never read.
 */
export function createClientReader(trusted: AddressRanges): ReadClient {
  const isTrusted = (address: string): boolean => isAmong(address, trusted)

  // Read for every request, and always the same for the clients of the moment.
  const peers = new LRUCache<string, { address: string; trusted: boolean }>({ max: 10_000 })

  function peerOf(remoteAddress: string): { address: string; trusted: boolean } {
    const known = peers.get(remoteAddress)
    if (known !== undefined) return known
    const address = plainAddress(remoteAddress) ?? ''
    const peer = { address, trusted: isTrusted(address) }
    peers.set(remoteAddress, peer)
    return peer
  }

  return ({ headers, socket }) => {
    const peer = peerOf(socket.remoteAddress ?? '')
    const near: Client = { address: peer.address, scheme: socket.encrypted === true ? 'https' : 'http' }
    if (!peer.trusted) return near

    const named = entries(headers['x-forwarded-for'])
    let { address } = near
    let hops = 0
    while (hops < named.length && isTrusted(address)) {
      const next = plainAddress(named.at(-1 - hops)!)
      // Whoever wrote that is the last one we know.
      if (next === null) break
      address = next
      hops += 1
    }

    const schemes = entries(headers['x-forwarded-proto'])
    const said = schemes[Math.max(0, schemes.length - Math.max(1, hops))]?.toLowerCase()
    return { address, scheme: said === 'http' || said === 'https' ? said : near.scheme }
  }
}

/** Whether an address lies in one of the ranges; what is no address does not. */
export function isAmong(address: string, ranges: AddressRanges): boolean {
  if (ranges.length === 0 || isIP(address) === 0) return false
  const parsed = ipaddr.parse(address)
  return ranges.some(
    ([network, bits]) => network.kind() === parsed.kind() && parsed.match(network as typeof parsed, bits),
  )
}

/**
 * What one client is counted by: an IPv4 address, or the /64 of an IPv6
 * address, as everybody who has one of its addresses has them all. Any other text is itself.
 */
export function clientBlock(address: string): string {
  if (isIP(address) !== 6) return address
  const groups = ipaddr.IPv6.parse(address).parts.slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}

/** `1.2.3.4`, `1.2.3.4:5678`, `::1`, `[::1]`, `[::1]:5678`, `::ffff:1.2.3.4`, `fe80::1%eth0`; null: none of these. */
function plainAddress(text: string): string | null {
  const match = /^\[([^\]]+)\](?::\d{1,5})?$|^(\d[\d.]+)(?::\d{1,5})?$|^([^[\]]+)$/.exec(text.trim())
  const address = (match?.[1] ?? match?.[2] ?? match?.[3] ?? '').split('%', 1)[0]!
  // Node knows one spelling of IPv4; ipaddr.js alone would also read 127.1.
  if (isIP(address) === 0) return null
  return ipaddr.process(address).toString()
}

/** node joins repeated headers with a comma, in their order. */
function entries(header: string | string[] | undefined): string[] {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '')
  return text === '' ? [] : text.split(',').map((entry) => entry.trim())
}
