import type { Queryable } from '../db/transaction.ts'
import type { AccountId, DomainId, DomainName, PagePath } from '../ids.ts'
import { type PageId, pageId } from './page-id.ts'

/** What a NOTIFY on the channel `invalidate` says is no longer true. */
export type Invalidation =
  /** All stored entries of a domain. */
  | { kind: 'domain'; domain: DomainId }
  /**
   * One page was stored anew or purged; `purged`: the domain's redirects went with it. `storedMs`: when what is stored
   * now was rendered, so that nothing as new is dropped; null: whatever is held is no longer true.
   */
  | { kind: 'page'; domain: DomainId; page: PageId; purged: boolean; storedMs: number | null }
  | { kind: 'prefix'; domain: DomainId; prefix: string }
  /** The domain of that name: created, changed or deleted. */
  | { kind: 'host'; host: string }
  /** An account: its plan, or all its domains. */
  | { kind: 'account'; account: number }
  /** A payload that this version does not understand: nothing in memory is believed. */
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

/** Something held in memory that PostgreSQL can make untrue. */
export type Held = {
  invalidate(what: Invalidation): void
  /** Notifications were or may have been missed. */
  doubt(): void
}

/** Connects what nodes hold in memory with what PostgreSQL says about it. */
export function invalidateOn(notifications: Notifications, held: readonly Held[]): void {
  notifications.on(INVALIDATE_CHANNEL, (payload) => {
    const what = parseInvalidation(payload)
    for (const each of held) each.invalidate(what)
  })
  notifications.onLost(() => {
    for (const each of held) each.doubt()
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

/** Tells every node to forget what it knows of this host: the domain, its settings, or that there is none. */
export async function announceHost(db: Queryable, host: DomainName): Promise<void> {
  await db.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ host })])
}

/** Tells every node that the plan of this account has changed. */
export async function announceAccount(db: Queryable, account: AccountId): Promise<void> {
  await db.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ account })])
}
