import type { DomainId } from '../ids.ts'
import { RecentMap } from '../recent-map.ts'
import type { Invalidation } from './invalidation.ts'
import { type PageId, pageKey } from './page-id.ts'
import type { StoredEntry } from './stored-page.ts'

/** What a reader makes of a stored entry to serve it quickly; `bytes` counts against the limit. */
export type Prepared = {
  readonly kind: StoredEntry['kind']
  readonly renderedAtMs: number
  readonly bytes: number
}

/** Keys and bookkeeping of an entry, roughly. */
const ENTRY_BYTES = 200

/** Entries of all domains together in at most `limitBytes`; those that were not asked for longest go first. */
export function createPageMemory<T extends Prepared>(limitBytes: number) {
  const keysOf = new Map<DomainId, Set<string>>()
  const domainOf = (key: string) => Number(key.slice(0, key.indexOf('/'))) as DomainId
  const forget = (key: string) => {
    const keys = keysOf.get(domainOf(key))
    keys?.delete(key)
    if (keys?.size === 0) keysOf.delete(domainOf(key))
  }
  const weigh = ({ bytes }: T, key: string) => bytes + 2 * key.length + ENTRY_BYTES
  const entries = new RecentMap<T>({ limit: limitBytes, weigh, gone: forget })

  function put({ domain, key }: PageId, entry: T): void {
    // One huge page must not drive out all others.
    if (weigh(entry, key) > limitBytes / 4) return void entries.delete(key)
    entries.set(key, entry)
    const keys = keysOf.get(domain)
    if (keys === undefined) keysOf.set(domain, new Set([key]))
    else keys.add(key)
  }

  /** Weighs an entry again that has grown while it was served. */
  function grown(page: PageId, entry: T): void {
    if (entries.peek(page.key) === entry) put(page, entry)
  }

  /** Drops what a notification about one domain says is no longer true. */
  function drop(what: Extract<Invalidation, { domain: DomainId }>): void {
    const { domain } = what
    const prefix = what.kind === 'prefix' ? pageKey(domain, what.prefix) : ''
    if (what.kind === 'page') {
      const { key } = what.page
      // What this node has stored itself is there before it is told of it.
      const isOlder = (entries.peek(key)?.renderedAtMs ?? 0) < (what.storedMs ?? Number.POSITIVE_INFINITY)
      if (isOlder) entries.delete(key)
    }
    if (what.kind === 'page' && !what.purged) return
    for (const key of [...(keysOf.get(domain) ?? [])]) {
      const named = what.kind === 'domain' || (what.kind === 'prefix' && key.startsWith(prefix))
      // Any purge takes all redirects of the domain.
      if (named || entries.peek(key)?.kind === 'redirect') entries.delete(key)
    }
  }

  function clear(): void {
    entries.clear()
    keysOf.clear()
  }

  return {
    get: (page: PageId): T | undefined => entries.get(page.key),
    put,
    grown,
    drop,
    clear,
    bytes: () => entries.weight,
    entries: () => entries.size,
  }
}
