import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import { Rate, type Refusal } from '@prepaint/postgres/rates'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { ShareByAccount } from '@prepaint/runtime/share-by-account.ts'
import { LRUCache } from 'lru-cache'
import type { DnsState } from './dns-state.ts'
import type { TriedOrigin } from './try-origin.ts'

/** Checks of an account in a minute, over all nodes. Cached results are free. */
export const CHECKS_A_MINUTE = 60
/** Of a node. Accounts share them: a check waits for servers of its owner. */
export const CHECKS_AT_ONCE = 16
/** A name that leads here stays for a while; another one may be changing now. */
const KEPT_MS = { good: 60_000, other: 10_000 }
/** Counts checks of `account <id>`. */
export const CHECK_RATE = new Rate({
  what: 'check',
  most: CHECKS_A_MINUTE,
  withinMs: 60_000,
  window: 'sliding',
})

type CheckedDns = DnsState & { checked_at: string }

/** Counts a check of the account. Returns null, or what the response of a refused one says. */
type TakeCheck = (account: AccountId) => Promise<{ headers: Refusal['headers'] } | null>

/** What sends requests to other servers. `checkDns` returns null if the account has no such domain. */
export type Probes = {
  checkDns(account: AccountId, name: DomainName): Promise<DnsState | null>
  tryOrigin(originUrl: string): Promise<TriedOrigin>
}

/** Limits the requests that owners' checks send to other servers. All methods throw `too_many_checks`. */
export class Checks {
  readonly #clock: Clock
  readonly #take: TakeCheck
  readonly #probes: Probes
  readonly #known = new LRUCache<string, { endsMs: number; found: Promise<CheckedDns | null> }>({
    max: 5_000,
  })
  readonly #share = new ShareByAccount(CHECKS_AT_ONCE)

  constructor(clock: Clock, take: TakeCheck, probes: Probes) {
    this.#clock = clock
    this.#take = take
    this.#probes = probes
  }

  /** For a check of several names, which `run` counts as one. */
  get probes(): Probes {
    return this.#probes
  }

  /** Counts a check that runs elsewhere. */
  async count(account: AccountId): Promise<void> {
    const refusal = await this.#take(account)
    if (refusal !== null) throw new AppError('too_many_checks', { headers: refusal.headers })
  }

  origin(account: AccountId, originUrl: string): Promise<TriedOrigin> {
    return this.#limited(account, () => this.#probes.tryOrigin(originUrl))
  }

  /** Runs another check of the account, within the same limits. */
  run<T>(account: AccountId, check: () => Promise<T>): Promise<T> {
    return this.#limited(account, check)
  }

  /** Returns null if the account has no such domain. A result is kept for a while, and checks at once share one. */
  async dns(account: AccountId, name: DomainName): Promise<CheckedDns | null> {
    const key = JSON.stringify([account, name])
    const kept = this.#known.get(key)
    if (kept !== undefined && kept.endsMs > this.#clock.nowMs()) return kept.found
    const found = this.#limited(account, () => this.#checkDns(account, name))
    const entry = { endsMs: Number.POSITIVE_INFINITY, found }
    this.#known.set(key, entry)
    try {
      const { state = null } = (await found) ?? {}
      entry.endsMs = this.#clock.nowMs() + (state === 'reaches-us' ? KEPT_MS.good : KEPT_MS.other)
      if (state === null) this.#known.delete(key)
    } catch (error) {
      this.#known.delete(key)
      throw error
    }
    return found
  }

  async #checkDns(account: AccountId, name: DomainName): Promise<CheckedDns | null> {
    const state = await this.#probes.checkDns(account, name)
    return state === null ? null : { ...state, checked_at: new Date(this.#clock.nowMs()).toISOString() }
  }

  async #limited<T>(account: AccountId, run: () => Promise<T>): Promise<T> {
    await this.count(account)
    const leave = this.#share.enter(account)
    if (leave === null) throw new AppError('too_many_checks', { headers: { 'Retry-After': '1' } })
    try {
      return await run()
    } finally {
      leave()
    }
  }
}
