import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { type PageId, pageId } from '@prepaint/contract/page/page-id.ts'

/** What changed, as NOTIFY tells it on the channel `invalidate`. */
export type Invalidation =
  | { kind: 'domain'; domain: DomainId }
  /**
   * All variants of a page. If `purged`, redirects were deleted too. Entries as new as `storedMs` stay; if it is null, none
   * do.
   */
  | { kind: 'page'; domain: DomainId; page: PageId; purged: boolean; storedMs: number | null }
  | { kind: 'prefix'; domain: DomainId; prefix: string }
  | { kind: 'host'; host: string }
  /** The account's plan or any of its domains changed. */
  | { kind: 'account'; account: number }
  /** A payload that this version does not understand: nothing in memory may be used. */
  | { kind: 'everything' }

export const INVALIDATE_CHANNEL = 'invalidate'

/** The payload is the id of a node that died: what it stored in its last moments may not have been told. */
export const NODE_DIED_CHANNEL = 'node_died'

/** A page that was stored: entries of it that are as new as that stay. */
export type StoredPath = [domain: DomainId, path: PagePath, storedMs: number]

/** Nodes of 0.2.0 understand it as everything. */
export function storedPayload(pages: readonly StoredPath[]): string {
  return JSON.stringify({ stored_pages: pages })
}

/** Returns what a payload tells, in its order. */
export function parseInvalidations(payload: string): Invalidation[] {
  const fields = fieldsOf(payload)
  const pages = fields['stored_pages']
  if (!Array.isArray(pages)) return [parseOne(fields)]
  return pages.map(([domain, path, stored]: StoredPath) => parseOne({ domain, path, stored }))
}

function parseOne(fields: Record<string, unknown>): Invalidation {
  const { domain, path, prefix, purged, stored, host, account } = fields
  if (typeof host === 'string') return { kind: 'host', host }
  if (typeof account === 'number') return { kind: 'account', account }
  if (typeof domain !== 'number') return { kind: 'everything' }
  const id = domain as DomainId
  if (typeof path === 'string') {
    const storedMs = typeof stored === 'number' && purged !== true ? stored : null
    const page = pageId(id, path as PagePath)
    return { kind: 'page', domain: id, page, purged: purged === true, storedMs }
  }
  if (typeof prefix === 'string') return { kind: 'prefix', domain: id, prefix }
  return { kind: 'domain', domain: id }
}

export type Notifications = {
  on(channel: string, take: (payload: string) => void): void
  onLost(react: () => void): void
  readonly connected: boolean
}

/** A cache that hears of changes. */
export type Held = {
  invalidate(what: Invalidation): void
  lost(): void
}

/** Tells the caches of each change from now on, and when notifications were lost. */
export function invalidateOn(notifications: Notifications, held: readonly Held[]): void {
  notifications.on(INVALIDATE_CHANNEL, (payload) => {
    for (const what of parseInvalidations(payload)) for (const cache of held) cache.invalidate(what)
  })
  notifications.on(NODE_DIED_CHANNEL, () => {
    for (const cache of held) cache.lost()
  })
  notifications.onLost(() => {
    for (const cache of held) cache.lost()
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
