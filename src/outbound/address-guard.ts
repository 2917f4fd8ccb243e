import { isIP } from 'node:net'

import ipaddr from 'ipaddr.js'

import type { AllowedRange } from '../address-range.ts'

/**
 * Says which addresses this node may connect to on behalf of a customer. It
 * is asked for the address of each connection that is about to be made, never
 * for a name: what was checked is what is connected to.
 */
export type AddressGuard = {
  /**
   * `address` in the plain spelling that a resolver gives (four decimal octets,
   * or IPv6 without brackets and zone). Any other spelling is refused.
   */
  permits(address: string, port: number): boolean
  /** Whether the operator allowed any private range at all. */
  readonly allowsPrivate: boolean
}

/** Only this block of IPv6 has been given out for global unicast (RFC 4291, 2.4; IANA). */
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

/** Whether the address is one of the public internet, whatever the operator allowed besides. */
export function isPublicAddress(address: string): boolean {
  const parsed = parseAddress(address)
  return parsed !== null && isGlobal(parsed)
}

/**
 * ipaddr.js alone would also read 127.1, 0177.0.0.1 and 2130706433. Node's own
 * isIP knows one spelling of IPv4; what it does not know was not written by a
 * resolver, and is refused rather than interpreted.
 */
function parseAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  // A zone (fe80::1%eth0) chooses an interface: nothing public has one.
  if (isIP(address) === 0 || address.includes('%')) return null
  try {
    return ipaddr.parse(address)
  } catch {
    return null
  }
}

/**
 * An allow-list: what no registry calls special, and for IPv6 only the block
 * that is in use. So IPv4 inside IPv6 (mapped, compatible, NAT64, 6to4,
 * Teredo) is refused whatever the IPv4 address says: it would reach that
 * address through a translator of this network.
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
