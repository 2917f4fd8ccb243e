import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

import ipaddr from 'ipaddr.js'
import { RecentMap } from '../recent-map.ts'

/** Ranges as `ipaddr.parseCIDR` returns them. */
export type AddressRanges = readonly [ipaddr.IPv4 | ipaddr.IPv6, number][]

/** The client as reported by trusted proxies. */
type Client = {
  /** Four decimal octets (also for mapped IPv4), or the shortest IPv6 form without a zone. */
  address: string
  scheme: 'http' | 'https'
}

type Asked = {
  headers: IncomingHttpHeaders
  socket: { remoteAddress?: string | undefined; encrypted?: unknown }
}

/** Never throws. Falls back to the socket's address, or to an empty text once the socket is closed. */
export type ReadClient = (request: Asked) => Client

type Peer = { address: string; isTrusted: boolean }

/** Peers whose parsed address is remembered, which spares each request the parsing. */
const REMEMBERED = 10_000

/**
 * Believes only `trusted` proxies: takes the right-most `X-Forwarded-For` entry that is not one of them, and the
 * scheme at the same place in `X-Forwarded-Proto`. Entries further left may be forged. Other headers are never read.
 */
export function createClientReader(trusted: AddressRanges): ReadClient {
  const peers = new RecentMap<Peer>({ limit: REMEMBERED })

  function peerOf(remoteAddress: string): Peer {
    const known = peers.get(remoteAddress)
    if (known !== undefined) return known
    const address = plainAddress(remoteAddress) ?? ''
    const peer = { address, isTrusted: isAmong(address, trusted) }
    peers.set(remoteAddress, peer)
    return peer
  }

  return ({ headers, socket }) => {
    const peer = peerOf(socket.remoteAddress ?? '')
    const near: Client = { address: peer.address, scheme: socket.encrypted === true ? 'https' : 'http' }
    if (!peer.isTrusted) return near

    const named = entries(headers['x-forwarded-for'])
    let { address } = near
    let hops = 0
    while (hops < named.length && isAmong(address, trusted)) {
      const next = plainAddress(named.at(-1 - hops)!)
      // The proxy that wrote this entry is the last known address.
      if (next === null) break
      address = next
      hops += 1
    }

    const schemes = entries(headers['x-forwarded-proto'])
    const said = schemes[Math.max(0, schemes.length - Math.max(1, hops))]?.toLowerCase()
    return { address, scheme: said === 'http' || said === 'https' ? said : near.scheme }
  }
}

/** Returns false also for a text that is no address. */
export function isAmong(address: string, ranges: AddressRanges): boolean {
  if (ranges.length === 0 || isIP(address) === 0) return false
  const parsed = ipaddr.parse(address)
  return ranges.some(
    ([network, bits]) => network.kind() === parsed.kind() && parsed.match(network as typeof parsed, bits),
  )
}

/** Returns the unit of client limits: an IPv4 address or an IPv6 /64. Another text is returned as it is. */
export function clientBlock(address: string): string {
  if (isIP(address) !== 6) return address
  const groups = ipaddr.IPv6.parse(address).parts.slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}

/**
 * Reads `1.2.3.4`, `1.2.3.4:5678`, `::1`, `[::1]`, `[::1]:5678`, `::ffff:1.2.3.4` and `fe80::1%eth0`. Returns null for
 * any other text.
 */
function plainAddress(text: string): string | null {
  const match = /^\[([^\]]+)\](?::\d{1,5})?$|^(\d[\d.]+)(?::\d{1,5})?$|^([^[\]]+)$/.exec(text.trim())
  const address = (match?.[1] ?? match?.[2] ?? match?.[3] ?? '').split('%', 1)[0]!
  // isIP first: ipaddr.js alone also accepts 127.1.
  if (isIP(address) === 0) return null
  return ipaddr.process(address).toString()
}

function entries(header: string | string[] | undefined): string[] {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '')
  return text === '' ? [] : text.split(',').map((entry) => entry.trim())
}
