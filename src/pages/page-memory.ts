import { LRUCache } from 'lru-cache'

import type { DomainId, PagePath } from '../ids.ts'
import type { Invalidation } from './invalidation.ts'
import type { StoredEntry } from './stored-page.ts'

/**
 * Names an entry in memory. A domain's id is digits and a path begins with
 * `/`, so no two pairs make the same key. Made once for a URL, not for a request.
 */
export type PageKey = { readonly domain: DomainId; readonly path: PagePath; readonly text: string }

export function pageKey(domain: DomainId, path: PagePath): PageKey {
  return { domain, path, text: `${domain}${path}` }
}

/** What a reader makes of a stored entry to serve it quickly; `bytes` counts against the limit. */
export type Prepared = { readonly kind: StoredEntry['kind']; readonly bytes: number }

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
  const entries = new LRUCache<string, T>({
    maxSize: Math.max(1, limitBytes),
    // One huge page must not drive out all others.
    maxEntrySize: Math.max(1, Math.floor(limitBytes / 4)),
    sizeCalculation: ({ bytes }, key) => bytes + 2 * key.length + ENTRY_BYTES,
    dispose: (_entry, key, reason) => {
      if (reason !== 'set') forget(key)
    },
  })

  function put(key: PageKey, entry: T): void {
    if (limitBytes === 0) return
    entries.set(key.text, entry)
    const keys = keysOf.get(key.domain)
    if (!entries.has(key.text)) forget(key.text)
    else if (keys === undefined) keysOf.set(key.domain, new Set([key.text]))
    else keys.add(key.text)
  }

  /** Weighs an entry again that has grown while it was served. */
  function grown(key: PageKey, entry: T): void {
    // Setting the same value would not be weighed.
    if (entries.peek(key.text) === entry && entries.delete(key.text)) put(key, entry)
  }

  /** Drops what a notification about one domain says is no longer true. */
  function drop(what: Extract<Invalidation, { domain: DomainId }>): void {
    const { domain } = what
    const prefix = what.kind === 'prefix' ? `${domain}${what.prefix}` : ''
    if (what.kind === 'path') entries.delete(pageKey(domain, what.path).text)
    if (what.kind === 'path' && !what.purged) return
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
    get: (key: PageKey): T | undefined => entries.get(key.text),
    put,
    grown,
    drop,
    clear,
    bytes: () => entries.calculatedSize,
    entries: () => entries.size,
  }
}
