import type { DomainId, PagePath } from '../ids.ts'
import { RecentMap } from '../recent-map.ts'
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

  function put(key: PageKey, entry: T): void {
    // One huge page must not drive out all others.
    if (weigh(entry, key.text) > limitBytes / 4) return void entries.delete(key.text)
    entries.set(key.text, entry)
    const keys = keysOf.get(key.domain)
    if (keys === undefined) keysOf.set(key.domain, new Set([key.text]))
    else keys.add(key.text)
  }

  /** Weighs an entry again that has grown while it was served. */
  function grown(key: PageKey, entry: T): void {
    if (entries.peek(key.text) === entry) put(key, entry)
  }

  /** Drops what a notification about one domain says is no longer true. */
  function drop(what: Extract<Invalidation, { domain: DomainId }>): void {
    const { domain } = what
    const prefix = what.kind === 'prefix' ? `${domain}${what.prefix}` : ''
    if (what.kind === 'path') {
      const { text } = pageKey(domain, what.path)
      // What this node has stored itself is there before it is told of it.
      const isOlder = (entries.peek(text)?.renderedAtMs ?? 0) < (what.storedMs ?? Number.POSITIVE_INFINITY)
      if (isOlder) entries.delete(text)
    }
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
    bytes: () => entries.weight,
    entries: () => entries.size,
  }
}
