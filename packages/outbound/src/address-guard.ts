import { isIP } from 'node:net'

import ipaddr from 'ipaddr.js'

import type { AllowedRange } from './address-range.ts'

/** Checks the address of each connection, never a name, so DNS changes cannot bypass it. */
export type AddressGuard = {
  /** Accepts only a resolver's spelling: four decimal octets, or IPv6 without brackets and zone. */
  permits(address: string, port: number): boolean
  readonly allowsPrivate: boolean
}

/** The only IPv6 block assigned for global unicast (RFC 4291, section 2.4; IANA). */
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3]

export function createAddressGuard(allowed: readonly AllowedRange[]): AddressGuard {
  const ranges = [...allowed]
  return {
    allowsPrivate: ranges.length > 0,
    permits(address, port) {
      const parsed = parseAddress(address)
      if (parsed === null || !Number.isInteger(port) || port < 1 || port > 65_535) return false
      if (isGlobal(parsed)) return true
      return ranges.some((range) => (range.port === null || range.port === port) && inRange(parsed, range))
    },
  }
}

export function isPublicAddress(address: string): boolean {
  const parsed = parseAddress(address)
  return parsed !== null && isGlobal(parsed)
}

/** isIP first: ipaddr.js alone also accepts 127.1, 0177.0.0.1 and 2130706433. */
function parseAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  // A zone (fe80::1%eth0) is never public.
  if (isIP(address) === 0 || address.includes('%')) return null
  try {
    return ipaddr.parse(address)
  } catch {
    return null
  }
}

/**
 * An allow-list. IPv4 inside IPv6 (mapped, NAT64, 6to4, Teredo) is refused, because a translator could reach any IPv4
 * address.
 */
function isGlobal(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_UNICAST)
}

function inRange(address: ipaddr.IPv4 | ipaddr.IPv6, { cidr }: AllowedRange): boolean {
  const [network, bits] = cidr
  if (address instanceof ipaddr.IPv4) return network instanceof ipaddr.IPv4 && address.match(network, bits)
  return network instanceof ipaddr.IPv6 && address.match(network, bits)
}
