import { CRAWLER_OWNERS, claimedOwner } from '@prepaint/contract/crawlers/known-crawlers.ts'

import type { Clock } from '@prepaint/runtime/clock.ts'
import { ShareByAccount } from '@prepaint/runtime/share-by-account.ts'
import { within } from '@prepaint/runtime/within.ts'
import { LRUCache } from 'lru-cache'
import type { AddressList } from './address-list.ts'
import type { ReverseDns, Standing } from './reverse-dns.ts'

export type VerifyCrawler = (
  userAgent: string,
  address: string,
  account: number,
) => Standing | Promise<Standing>

type VerifyDeps = {
  clock: Clock
  /** An owner's published ranges; null: none here. */
  rangesOf(owner: string): AddressList | null
  reverseDns: ReverseDns
}

const HOUR_MS = 3_600_000
export const KEPT_MS: Readonly<Record<Standing, number>> = {
  verified: 24 * HOUR_MS,
  forged: HOUR_MS,
  unknown: 60_000,
}
const REMEMBERED = 50_000
/** Concurrent lookups of all accounts. Beyond its share, an account's crawlers are `unknown`. */
export const LOOKUPS_LIMIT = 64
/** Longer lookups give `unknown`; their result is still cached. */
const WAIT_MS = 3_000

/**
 * Checks published ranges, then forward-confirmed reverse DNS if the owner has names. With ranges only, other
 * addresses are forged. Without either: `unknown`. Not used for hits.
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
