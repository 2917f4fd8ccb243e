import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'

import ipaddr from 'ipaddr.js'

/** A crawler is `unknown` if the lookup failed. */
export type Standing = 'verified' | 'forged' | 'unknown'

export type ReverseDns = (address: string, hosts: readonly string[]) => Promise<Standing>

const QUERY_TIMEOUT_MS = 1_000
const QUERY_TRIES = 2
/** Further names of an address are not checked; crawlers have one. */
const NAMES_LIMIT = 5

/** These codes are definite answers. Other errors may be temporary. */
const NONE = ['ENOTFOUND', 'ENODATA']

/**
 * Checks by forward-confirmed reverse DNS that the address has a name below one of `hosts`, which resolves back to it.
 * Never rejects. `servers` are `address` or `address:port`, by default those of the system.
 */
export async function checkReverseDns(
  address: string,
  hosts: readonly string[],
  servers?: readonly string[],
): Promise<Standing> {
  if (isIP(address) === 0) return 'unknown'
  try {
    // A new resolver uses the machine's current name servers.
    const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
    if (servers !== undefined) resolver.setServers(servers)
    const names = await resolver.resolvePtr(arpaName(address)).catch(noneOrThrow)
    const own = names.slice(0, NAMES_LIMIT).filter((name) => isWithin(name, hosts))
    for (const name of own) {
      const lookup = isIP(address) === 6 ? resolver.resolve6(name) : resolver.resolve4(name)
      const addresses = await lookup.catch(noneOrThrow)
      if (addresses.some((other) => isSameAddress(other, address))) return 'verified'
    }
    return 'forged'
  } catch {
    return 'unknown'
  }
}

/** Spells the name of RFC 1035, section 3.5, in place of `resolver.reverse`, which reports ENOTFOUND also for failing servers. */
function arpaName(address: string): string {
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return `${parsed.octets.toReversed().join('.')}.in-addr.arpa`
  const nibbles = parsed.parts.map((group) => group.toString(16).padStart(4, '0')).join('')
  return `${[...nibbles].reverse().join('.')}.ip6.arpa`
}

/** Refuses `\.`, a dot inside a label: `x\.googlebot.com` is directly below `com`. */
const PLAIN_NAME = /^[\w.-]+$/

function isWithin(name: string, hosts: readonly string[]): boolean {
  const lower = name.toLowerCase().replace(/\.$/, '')
  return PLAIN_NAME.test(lower) && hosts.some((host) => lower.endsWith(`.${host}`))
}

function noneOrThrow(error: NodeJS.ErrnoException): string[] {
  if (NONE.includes(error.code ?? '')) return []
  throw error
}

function isSameAddress(one: string, other: string): boolean {
  return ipaddr.process(one).toString() === ipaddr.process(other).toString()
}
