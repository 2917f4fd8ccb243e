import { CRAWLER_OWNERS, claimedOwner } from '@prepaint/contract/crawlers/known-crawlers.ts'

import type { Clock } from '@prepaint/runtime/clock.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import { ShareByAccount } from '@prepaint/runtime/share-by-account.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { AddressList } from './address-list.ts'
import type { ReverseDns, Standing } from './reverse-dns.ts'

export type VerifyCrawler = (
  userAgent: string,
  address: string,
  account: number,
) => Standing | Promise<Standing>

/** Finds the published ranges of a crawler's owner, or null if there are none here. */
type RangesOf = (owner: string) => AddressList | null

const HOUR_MS = 3_600_000
/** A result is used again for this time. */
export const KEPT_MS: Readonly<Record<Standing, number>> = {
  verified: 24 * HOUR_MS,
  forged: HOUR_MS,
  unknown: 60_000,
}
const REMEMBERED = 50_000
/** Limits the concurrent lookups of all accounts. Beyond its share, an account's crawlers are `unknown`. */
export const LOOKUPS_LIMIT = 64
/** A lookup that takes longer gives `unknown`; its result is still cached. */
const WAIT_MS = 3_000

/**
 * Checks published ranges, then forward-confirmed reverse DNS if the owner has names. With ranges only, other
 * addresses are forged. Without either, a crawler is `unknown`. Not used for hits.
 */
export class CrawlerVerifier {
  readonly #clock: Clock
  readonly #rangesOf: RangesOf
  readonly #reverseDns: ReverseDns
  readonly #known = new RecentMap<{ standing: Standing; untilMs: number }>({ limit: REMEMBERED })
  readonly #asking = new Map<string, Promise<Standing>>()
  readonly #lookups = new ShareByAccount(LOOKUPS_LIMIT)

  constructor(clock: Clock, rangesOf: RangesOf, reverseDns: ReverseDns) {
    this.#clock = clock
    this.#rangesOf = rangesOf
    this.#reverseDns = reverseDns
  }

  /** Returns a promise only if DNS must be asked. Never rejects. */
  verify(userAgent: string, address: string, account: number): Standing | Promise<Standing> {
    const owner = claimedOwner(userAgent)
    if (owner === null || address === '') return 'unknown'
    const { hosts } = CRAWLER_OWNERS[owner]
    const ranges = this.#rangesOf(owner)
    if (ranges?.has(address) === true) return 'verified'
    if (hosts.length === 0) return ranges === null ? 'unknown' : 'forged'

    const key = `${owner} ${address}`
    const found = this.#known.get(key)
    if (found !== undefined && this.#clock.nowMs() < found.untilMs) return found.standing
    const lookup = this.#asking.get(key) ?? this.#ask(key, address, hosts, account)
    return lookup === null ? 'unknown' : within(WAIT_MS, lookup, 'unknown')
  }

  /** Returns null if the account has its share of lookups. */
  #ask(key: string, address: string, hosts: readonly string[], account: number): Promise<Standing> | null {
    const leave = this.#lookups.enter(account)
    if (leave === null) return null
    const lookup = this.#reverseDns(address, hosts).then((standing) => {
      leave()
      this.#asking.delete(key)
      this.#known.set(key, { standing, untilMs: this.#clock.nowMs() + KEPT_MS[standing] })
      return standing
    })
    this.#asking.set(key, lookup)
    return lookup
  }
}
