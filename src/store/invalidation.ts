import type { Queryable } from '../db/transaction.ts'
import type { AccountId, DomainId, DomainName, PagePath } from '../ids.ts'
import { type PageId, pageId } from './page-id.ts'

/** What a NOTIFY on the channel `invalidate` says is no longer true. */
export type Invalidation =
  /** All stored entries of a domain. */
  | { kind: 'domain'; domain: DomainId }
  /**
   * One page was stored or purged; `purged`: the domain's redirects went with it. `storedMs`: when what is stored now
   * was rendered, so that nothing as new is dropped; null: drop it whatever it is.
   */
  | { kind: 'page'; domain: DomainId; page: PageId; purged: boolean; storedMs: number | null }
  | { kind: 'prefix'; domain: DomainId; prefix: string }
  /** The domain of that name: created, changed or deleted. */
  | { kind: 'host'; host: string }
  /** An account: its plan, or all its domains. */
  | { kind: 'account'; account: number }
  /** A payload that this version does not understand: nothing in memory may be used. */
  | { kind: 'everything' }

export const INVALIDATE_CHANNEL = 'invalidate'

export function parseInvalidation(payload: string): Invalidation {
  const { domain, path, prefix, purged, stored, host, account } = fieldsOf(payload)
  if (typeof host === 'string') return { kind: 'host', host }
  if (typeof account === 'number') return { kind: 'account', account }
  if (typeof domain !== 'number') return { kind: 'everything' }
  const id = domain as DomainId
  if (typeof path === 'string') {
    const storedMs = typeof stored === 'number' && purged !== true ? stored : null
    return { kind: 'page', domain: id, page: pageId(id, path as PagePath), purged: purged === true, storedMs }
  }
  if (typeof prefix === 'string') return { kind: 'prefix', domain: id, prefix }
  return { kind: 'domain', domain: id }
}

/** Where notifications come from; `src/db/listener.ts` is one. */
export type Notifications = {
  on(channel: string, take: (payload: string) => void): void
  onLost(react: () => void): void
  readonly connected: boolean
}

/** A cache of what PostgreSQL has. */
export type Held = {
  invalidate(what: Invalidation): void
  /** Notifications were or may have been missed. */
  lost(): void
}

/**
 * Whether a cache may be used. While notifications are lost it may not, but for when PostgreSQL cannot be asked; it is
 * emptied before it is used again. A value that was read while a notification came is not cached.
 */
export class CacheTrust {
  #epoch = 0
  #isLost: boolean
  readonly #connected: () => boolean
  readonly #empty: () => void

  constructor(connected: () => boolean, empty: () => void) {
    this.#connected = connected
    this.#empty = empty
    this.#isLost = !connected()
  }

  get holds(): boolean {
    if (this.#isLost && this.#connected()) {
      this.#isLost = false
      this.#empty()
    }
    return !this.#isLost
  }

  /** Call before reading, and `admits` with the result before caching. */
  begin(): number | null {
    return this.holds ? this.#epoch : null
  }

  admits(began: number | null): boolean {
    return began !== null && this.holds && began === this.#epoch
  }

  /** A notification came: nothing that is being read is cached. */
  notified(): void {
    this.#epoch++
  }

  lost(): void {
    this.#isLost = true
    this.#epoch++
  }
}

/** Connects caches with the notifications of PostgreSQL. */
export function invalidateOn(notifications: Notifications, held: readonly Held[]): void {
  notifications.on(INVALIDATE_CHANNEL, (payload) => {
    const what = parseInvalidation(payload)
    for (const each of held) each.invalidate(what)
  })
  notifications.onLost(() => {
    for (const each of held) each.lost()
  })
}

function fieldsOf(payload: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(payload)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** Has every node drop what it caches of this host: the domain, its settings, or that there is none. */
export async function announceHost(db: Queryable, host: DomainName): Promise<void> {
  await db.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ host })])
}

/** Notifies every node that the plan of this account has changed. */
export async function announceAccount(db: Queryable, account: AccountId): Promise<void> {
  await db.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ account })])
}
