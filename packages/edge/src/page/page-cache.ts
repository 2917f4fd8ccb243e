import type { DomainId } from '@prepaint/contract/ids.ts'
import { type PageId, pageKey, variantsOf } from '@prepaint/contract/page/page-id.ts'
import type { StoredEntry, StoredPage } from '@prepaint/contract/page/stored.ts'
import { CacheTrust } from '@prepaint/runtime/cache-trust.ts'
import type { Held, Invalidation } from '@prepaint/runtime/invalidation.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'

type PageCacheOptions<T> = {
  /** Of all entries together; 0 disables the cache. */
  limitBytes: number
  read(page: PageId): Promise<StoredEntry | null>
  prepare(entry: StoredEntry): T
  connected(): boolean
}

/** Caches a read only if no notification changed the domain's epoch meanwhile. */
export function createPageCache<T extends Prepared>(options: PageCacheOptions<T>) {
  const { limitBytes, read, prepare, connected } = options
  const memory = createPageMemory<T>(limitBytes)
  const loading = new Map<string, { epoch: number; entry: Promise<T | null> }>()
  const [epochs, purges, stores] = [createEpochs(), createEpochs(), createEpochs()]
  const trust = new CacheTrust(connected, clear)

  /** Rejects if PostgreSQL fails and memory has no entry. */
  function find(page: PageId): T | Promise<T | null> {
    return inMemory(page) ?? join(page).then((entry) => entry ?? inMemory(page) ?? null)
  }

  /** Also called after a read that found nothing: the page may have been stored meanwhile. */
  function inMemory(page: PageId): T | undefined {
    return trust.recover() ? memory.get(page) : undefined
  }

  function join(page: PageId): Promise<T | null> {
    const open = loading.get(page.key)
    return open !== undefined && open.epoch === epochs.of(page.domain) ? open.entry : reread(page)
  }

  /** For a caller that knows of a newer entry. */
  function reread(page: PageId): Promise<T | null> {
    const open = { epoch: epochs.of(page.domain), entry: load(page) }
    loading.set(page.key, open)
    const end = () => {
      if (loading.get(page.key) === open) loading.delete(page.key)
    }
    open.entry.then(end, end)
    return open.entry
  }

  async function load(page: PageId): Promise<T | null> {
    const epoch = epochs.of(page.domain)
    let stored: StoredEntry | null
    try {
      stored = await read(page)
    } catch (error) {
      const entry = memory.get(page)
      if (entry === undefined) throw error
      return entry
    }
    if (stored === null) return null
    const entry = prepare(stored)
    // Trust that came back meanwhile has moved all epochs.
    if (trust.recover() && epoch === epochs.of(page.domain)) memory.put(page, entry)
    return entry
  }

  /**
   * Call before rendering. The result caches the page that this node stored, unless a newer one is stored.
   * Returns null if the domain was purged, or notifications were lost, in between.
   */
  function admission(page: PageId): (stored: StoredPage) => T | null {
    const { domain } = page
    const epoch = purges.of(domain)
    return (stored) => {
      if (!trust.recover() || epoch !== purges.of(domain)) return null
      const storedMs = stored.renderedAtMs
      invalidate({ kind: 'page', domain, page, purged: false, storedMs })
      if (stores.of(domain) === storedMs) memory.put(page, prepare({ ...stored, bodyHtml: undefined }))
      return prepare(stored)
    }
  }

  function clear(): void {
    memory.clear()
    epochs.moveAll()
    purges.moveAll()
  }

  function invalidate(what: Invalidation): void {
    if (what.kind === 'everything') clear()
    else if ('domain' in what) {
      epochs.move(what.domain)
      if (what.kind !== 'page' || what.purged) purges.move(what.domain)
      else stores.raise(what.domain, what.storedMs ?? 0)
      memory.drop(what)
    }
  }

  const held: Held = {
    invalidate,
    lost: () => {
      trust.lost()
      epochs.moveAll()
      purges.moveAll()
    },
  }
  return {
    find,
    inMemory,
    reread,
    admission,
    grown: memory.grown,
    held,
    bytes: memory.bytes,
    entries: memory.entries,
  }
}

export type PageCache<T extends Prepared> = ReturnType<typeof createPageCache<T>>

/** Domains share epochs: a collision only causes an extra read. */
const EPOCHS = 1_024

function createEpochs() {
  const epochs = new Float64Array(EPOCHS)
  return {
    of: (domain: DomainId): number => epochs[domain % EPOCHS]!,
    move(domain: DomainId): void {
      epochs[domain % EPOCHS]!++
    },
    raise(domain: DomainId, to: number): void {
      epochs[domain % EPOCHS] = Math.max(epochs[domain % EPOCHS]!, to)
    },
    moveAll(): void {
      for (let at = 0; at < EPOCHS; at++) epochs[at]!++
    },
  }
}

export type Prepared = {
  readonly kind: StoredEntry['kind']
  readonly renderedAtMs: number
  readonly bytes: number
}

const ENTRY_BYTES = 200

function createPageMemory<T extends Prepared>(limitBytes: number) {
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
    // One huge page must not evict all others.
    if (weigh(entry, key) > limitBytes / 4) return void entries.delete(key)
    entries.set(key, entry)
    const keys = keysOf.get(domain)
    if (keys === undefined) keysOf.set(domain, new Set([key]))
    else keys.add(key)
  }

  function grown(page: PageId, entry: T): void {
    if (entries.peek(page.key) === entry) put(page, entry)
  }

  function drop(what: Extract<Invalidation, { domain: DomainId }>): void {
    const { domain } = what
    const prefix = what.kind === 'prefix' ? pageKey(domain, what.prefix) : ''
    if (what.kind === 'page') {
      for (const { key } of variantsOf(what.page)) {
        // A page that this node stored is cached before its notification arrives.
        const isOlder = (entries.peek(key)?.renderedAtMs ?? 0) < (what.storedMs ?? Number.POSITIVE_INFINITY)
        if (isOlder) entries.delete(key)
      }
    }
    if (what.kind === 'page' && !what.purged) return
    for (const key of [...(keysOf.get(domain) ?? [])]) {
      const named = what.kind === 'domain' || (what.kind === 'prefix' && key.startsWith(prefix))
      // Any purge deletes all redirects of the domain.
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
