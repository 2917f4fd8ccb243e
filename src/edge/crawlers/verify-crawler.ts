import { LRUCache } from 'lru-cache'

import type { Clock } from '../../clock.ts'
import { ShareByAccount } from '../../share-by-account.ts'
import { within } from '../../within.ts'
import type { AddressList } from './address-list.ts'
import { CRAWLER_OWNERS, claimedOwner } from './known-crawlers.ts'
import type { ReverseDns, Standing } from './reverse-dns.ts'

/** Says whether a crawler is who its user agent claims; never rejects. */
export type VerifyCrawler = (
  userAgent: string,
  address: string,
  account: number,
) => Standing | Promise<Standing>

type VerifyDeps = {
  clock: Clock
  /** The published ranges of an owner, by its name; null: they are not here. */
  rangesOf(owner: string): AddressList | null
  reverseDns: ReverseDns
}

const HOUR_MS = 3_600_000
/** How long an answer is used again. */
export const KEPT_MS: Readonly<Record<Standing, number>> = {
  verified: 24 * HOUR_MS,
  forged: HOUR_MS,
  unknown: 60_000,
}
/** Addresses that are remembered; the oldest go first. */
const REMEMBERED = 50_000
/** Look-ups at one time, of the crawlers of all accounts; past its share, an account's crawlers are `unknown`. */
export const LOOKUPS_LIMIT = 64
/** Who waits longer than this is `unknown` for now; the answer is kept when it comes. */
const WAIT_MS = 3_000

/**
 * Published ranges first; where the address is in none, forward-confirmed
 * reverse DNS for owners whose addresses have names. With ranges alone, what
 * is outside them is forged; with neither, nobody can tell: `unknown`, as for
 * user agents that claim nobody in particular. Asked for misses and refreshes, never for a hit.
 */
export function createVerifyCrawler({ clock, rangesOf, reverseDns }: VerifyDeps): VerifyCrawler {
  const known = new LRUCache<string, { standing: Standing; untilMs: number }>({ max: REMEMBERED })
  const asking = new Map<string, Promise<Standing>>()
  const lookups = new ShareByAccount(LOOKUPS_LIMIT)

  return (userAgent, address, account) => {
    const owner = claimedOwner(userAgent)
    if (owner === null || address === '') return 'unknown'
    const { hosts } = CRAWLER_OWNERS[owner]
    const ranges = rangesOf(owner)
    if (ranges?.has(address) === true) return 'verified'
    if (hosts.length === 0) return ranges === null ? 'unknown' : 'forged'

    const key = `${owner} ${address}`
    const found = known.get(key)
    if (found !== undefined && clock.nowMs() < found.untilMs) return found.standing
    const open = asking.get(key)
    if (open !== undefined) return inTime(open)
    const leave = lookups.enter(account)
    if (leave === null) return 'unknown'
    const asked = reverseDns(address, hosts).then((standing) => {
      leave()
      asking.delete(key)
      known.set(key, { standing, untilMs: clock.nowMs() + KEPT_MS[standing] })
      return standing
    })
    asking.set(key, asked)
    return inTime(asked)
  }
}

function inTime(lookup: Promise<Standing>): Promise<Standing> {
  return within(WAIT_MS, lookup, 'unknown')
}
