import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import { Rate, type Refusal } from '@prepaint/postgres/rates'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { LRUCache } from 'lru-cache'
import type { DnsState } from './dns-state.ts'
import type { TriedOrigin } from './try-origin.ts'

/** Per account, over all nodes; cached results are free. */
export const CHECKS_A_MINUTE = 60
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

export type Checks = {
  /** Null: the account has no such domain. Throws `too_many_checks`. */
  dns(account: AccountId, name: DomainName): Promise<CheckedDns | null>
  origin(account: AccountId, originUrl: string): Promise<TriedOrigin>
  count(account: AccountId): Promise<void>
}

/** Limits the requests that owners' checks send to other servers. */
export function createChecks(deps: {
  clock: Clock
  /** Counts a check. Returns null, or how long to wait for the next one. */
  take(account: AccountId): Promise<Pick<Refusal, 'headers'> | null>
  readDns(account: AccountId, name: DomainName): Promise<DnsState | null>
  tryOrigin(originUrl: string): Promise<TriedOrigin>
}): Checks {
  const { clock } = deps
  const known = new LRUCache<string, { endsMs: number; found: Promise<CheckedDns | null> }>({ max: 5_000 })
  let underWay = 0

  async function count(account: AccountId): Promise<void> {
    const refusal = await deps.take(account)
    if (refusal !== null) throw new AppError('too_many_checks', { headers: refusal.headers })
  }

  async function limited<T>(account: AccountId, run: () => Promise<T>): Promise<T> {
    await count(account)
    if (underWay >= CHECKS_AT_ONCE) throw new AppError('too_many_checks', { headers: { 'Retry-After': '1' } })
    underWay++
    try {
      return await run()
    } finally {
      underWay--
    }
  }

  return {
    count,
    origin: (account, originUrl) => limited(account, () => deps.tryOrigin(originUrl)),
    async dns(account, name) {
      const key = JSON.stringify([account, name])
      const kept = known.get(key)
      if (kept !== undefined && kept.endsMs > clock.nowMs()) return kept.found
      const found = limited(account, async (): Promise<CheckedDns | null> => {
        const state = await deps.readDns(account, name)
        return state === null ? null : { ...state, checked_at: new Date(clock.nowMs()).toISOString() }
      })
      const entry = { endsMs: Number.POSITIVE_INFINITY, found }
      known.set(key, entry)
      try {
        const { state = null } = (await found) ?? {}
        entry.endsMs = clock.nowMs() + (state === 'reaches-us' ? KEPT_MS.good : KEPT_MS.other)
        if (state === null) known.delete(key)
      } catch (error) {
        known.delete(key)
        throw error
      }
      return found
    },
  }
}
