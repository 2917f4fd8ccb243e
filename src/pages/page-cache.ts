import { LRUCache } from 'lru-cache'

import type { DomainId, PagePath } from '../ids.ts'
import type { Held, Invalidation } from './invalidation.ts'
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

export type PageCacheOptions<T> = {
  /** Of all entries together; 0 keeps nothing in memory. */
  limitBytes: number
  read(domain: DomainId, path: PagePath): Promise<StoredEntry | null>
  prepare(entry: StoredEntry): T
  /** Whether notifications arrive at this moment. */
  connected(): boolean
}

const EPOCHS = 1_024

/**
 * Pages and redirects: from memory, else from PostgreSQL, and then in memory.
 *
 * What PostgreSQL says wins over what is read at the same moment: a read takes
 * its domain's epoch first and is put into memory only if no notification has
 * moved that epoch meanwhile. (Domains share 1,024 epochs: at worst a read too
 * many.) While notifications are lost, memory is not believed; it answers only
 * when PostgreSQL cannot, and is emptied before it is believed again.
 */
export function createPageCache<T extends Prepared>(options: PageCacheOptions<T>) {
  const { limitBytes, read, prepare, connected } = options
  const keysOf = new Map<DomainId, Set<string>>()
  const domainOf = (key: string) => Number(key.slice(0, key.indexOf('/'))) as DomainId
  const forget = (key: string) => {
    const keys = keysOf.get(domainOf(key))
    keys?.delete(key)
    if (keys?.size === 0) keysOf.delete(domainOf(key))
  }
  const memory = new LRUCache<string, T>({
    maxSize: Math.max(1, limitBytes),
    // One huge page must not drive out all others.
    maxEntrySize: Math.max(1, Math.floor(limitBytes / 4)),
    sizeCalculation: ({ bytes }, key) => bytes + 2 * key.length + 200,
    dispose: (_entry, key, reason) => {
      if (reason !== 'set') forget(key)
    },
  })
  const loading = new Map<string, { epoch: number; entry: Promise<T | null> }>()
  const epochs = new Uint32Array(EPOCHS)
  let doubted = !connected()

  /** In memory: the entry itself, without a promise. Rejects when PostgreSQL does and memory cannot help. */
  function find(key: PageKey): T | Promise<T | null> {
    return (believed() ? memory.get(key.text) : undefined) ?? join(key)
  }

  function join(key: PageKey): Promise<T | null> {
    const open = loading.get(key.text)
    if (open !== undefined && open.epoch === epochs[key.domain % EPOCHS]) return open.entry
    return reread(key)
  }

  /** From PostgreSQL, whatever memory holds: for a reader that knows of a new entry. */
  function reread(key: PageKey): Promise<T | null> {
    const entry = load(key)
    const open = { epoch: epochs[key.domain % EPOCHS]!, entry }
    loading.set(key.text, open)
    const end = () => {
      if (loading.get(key.text) === open) loading.delete(key.text)
    }
    entry.then(end, end)
    return entry
  }

  async function load(key: PageKey): Promise<T | null> {
    const believedAtStart = believed()
    const epoch = epochs[key.domain % EPOCHS]
    let stored: StoredEntry | null
    try {
      stored = await read(key.domain, key.path)
    } catch (error) {
      const held = memory.get(key.text)
      if (held === undefined) throw error
      return held
    }
    if (stored === null) return null
    const entry = prepare(stored)
    if (believedAtStart && believed() && epoch === epochs[key.domain % EPOCHS]) put(key, entry)
    return entry
  }

  function put(key: PageKey, entry: T): void {
    if (limitBytes === 0) return
    memory.set(key.text, entry)
    const keys = keysOf.get(key.domain)
    if (!memory.has(key.text)) forget(key.text)
    else if (keys === undefined) keysOf.set(key.domain, new Set([key.text]))
    else keys.add(key.text)
  }

  /** Weighs an entry again that has grown while it was served. */
  function grown(key: PageKey, entry: T): void {
    // Setting the same value would not be weighed.
    if (memory.peek(key.text) === entry && memory.delete(key.text)) put(key, entry)
  }

  function believed(): boolean {
    if (!doubted) return true
    if (!connected()) return false
    doubted = false
    clear()
    return true
  }

  function clear(): void {
    memory.clear()
    keysOf.clear()
    for (let at = 0; at < EPOCHS; at++) epochs[at]!++
  }

  function dropWhere(domain: DomainId, gone: (key: string) => boolean): void {
    for (const key of [...(keysOf.get(domain) ?? [])]) if (gone(key)) memory.delete(key)
  }

  function invalidate(what: Invalidation): void {
    if (what.kind === 'everything') clear()
    if (what.kind === 'everything' || what.kind === 'host' || what.kind === 'account') return
    const { domain } = what
    epochs[domain % EPOCHS]!++
    const isRedirect = (key: string) => memory.peek(key)?.kind === 'redirect'
    if (what.kind === 'domain') dropWhere(domain, () => true)
    else if (what.kind === 'prefix') {
      const prefix = `${domain}${what.prefix}`
      dropWhere(domain, (key) => key.startsWith(prefix) || isRedirect(key))
    } else {
      memory.delete(pageKey(domain, what.path).text)
      if (what.purged) dropWhere(domain, isRedirect)
    }
  }

  const held: Held = {
    invalidate,
    doubt: () => {
      doubted = true
      for (let at = 0; at < EPOCHS; at++) epochs[at]!++
    },
  }
  return { find, reread, grown, held, bytes: () => memory.calculatedSize, entries: () => memory.size }
}

export type PageCache<T extends Prepared> = ReturnType<typeof createPageCache<T>>
