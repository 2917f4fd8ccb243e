import type { DomainId } from '@prepaint/contract/ids.ts'
import { type PageId, pageKey, variantsOf } from '@prepaint/contract/page/page-id.ts'
import type { StoredEntry, StoredPage } from '@prepaint/contract/page/stored.ts'
import { CacheTrust } from '@prepaint/runtime/cache-trust.ts'
import type { Held, Invalidation } from '@prepaint/runtime/invalidation.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'

type PageCacheOptions<T> = {
  /** Limits all entries together; 0 disables the cache. */
  limitBytes: number
  read(page: PageId): Promise<StoredEntry | null>
  prepare(entry: StoredEntry): T
  connected(): boolean
}

type Loading<T> = { epoch: number; entry: Promise<T | null> }

/** Keeps pages in memory. Caches a read only if no notification changed the domain's epoch meanwhile. */
export class PageCache<T extends Prepared> {
  readonly #options: PageCacheOptions<T>
  readonly #memory: PageMemory<T>
  readonly #loading = new Map<string, Loading<T>>()
  /** Move with each notification about the domain. */
  readonly #epochs = new Epochs()
  /** Move with each purge. */
  readonly #purges = new Epochs()
  /** The time of the newest page of the domain that was stored. */
  readonly #stores = new Epochs()
  readonly #trust: CacheTrust
  readonly held: Held

  constructor(options: PageCacheOptions<T>) {
    this.#options = options
    this.#memory = new PageMemory(options.limitBytes)
    this.#trust = new CacheTrust(options.connected, () => this.#clear())
    this.held = {
      invalidate: (what) => this.#invalidate(what),
      lost: () => {
        this.#trust.lost()
        this.#epochs.moveAll()
        this.#purges.moveAll()
      },
    }
  }

  /** The bytes of all entries. */
  get bytes(): number {
    return this.#memory.bytes
  }

  get entries(): number {
    return this.#memory.entries
  }

  /** Rejects if PostgreSQL fails and memory has no entry. */
  find(page: PageId): T | Promise<T | null> {
    const entry = this.inMemory(page)
    if (entry !== undefined) return entry
    // The page may have been stored while a read found nothing.
    return this.#join(page).then((read) => read ?? this.inMemory(page) ?? null)
  }

  inMemory(page: PageId): T | undefined {
    return this.#trust.recover() ? this.#memory.get(page) : undefined
  }

  /** Reads the page again, for a caller that knows of a newer entry. */
  reread(page: PageId): Promise<T | null> {
    const open = { epoch: this.#epochs.of(page.domain), entry: this.#load(page) }
    this.#loading.set(page.key, open)
    const end = () => {
      if (this.#loading.get(page.key) === open) this.#loading.delete(page.key)
    }
    open.entry.then(end, end)
    return open.entry
  }

  /**
   * Call before rendering. The result caches the page that this node stored, unless a newer one is stored.
   * Returns null if the domain was purged, or notifications were lost, in between.
   */
  admission(page: PageId): (stored: StoredPage) => T | null {
    const { domain } = page
    const { prepare } = this.#options
    const epoch = this.#purges.of(domain)
    return (stored) => {
      if (!this.#trust.recover() || epoch !== this.#purges.of(domain)) return null
      const storedMs = stored.renderedAtMs
      this.#invalidate({ kind: 'page', domain, page, purged: false, storedMs })
      if (this.#stores.of(domain) === storedMs) {
        this.#memory.put(page, prepare({ ...stored, bodyHtml: undefined }))
      }
      return prepare(stored)
    }
  }

  /** Call when the bytes of an entry have grown: it is weighed again if it is still in memory. */
  grown(page: PageId, entry: T): void {
    this.#memory.grown(page, entry)
  }

  #join(page: PageId): Promise<T | null> {
    const open = this.#loading.get(page.key)
    const isCurrent = open !== undefined && open.epoch === this.#epochs.of(page.domain)
    return isCurrent ? open.entry : this.reread(page)
  }

  async #load(page: PageId): Promise<T | null> {
    const epoch = this.#epochs.of(page.domain)
    let stored: StoredEntry | null
    try {
      stored = await this.#options.read(page)
    } catch (error) {
      const entry = this.#memory.get(page)
      if (entry === undefined) throw error
      return entry
    }
    if (stored === null) return null
    const entry = this.#options.prepare(stored)
    // Trust that came back meanwhile has moved all epochs.
    if (this.#trust.recover() && epoch === this.#epochs.of(page.domain)) this.#memory.put(page, entry)
    return entry
  }

  #clear(): void {
    this.#memory.clear()
    this.#epochs.moveAll()
    this.#purges.moveAll()
  }

  #invalidate(what: Invalidation): void {
    if (what.kind === 'everything') {
      this.#clear()
      return
    }
    if (!('domain' in what)) return
    this.#epochs.move(what.domain)
    if (what.kind !== 'page' || what.purged) this.#purges.move(what.domain)
    else this.#stores.raise(what.domain, what.storedMs ?? 0)
    this.#memory.drop(what)
  }
}

/** Domains share epochs: a collision only causes an extra read. */
const EPOCHS = 1_024

/** A number for each domain that only grows. */
class Epochs {
  readonly #epochs = new Float64Array(EPOCHS)

  of(domain: DomainId): number {
    return this.#epochs[domain % EPOCHS]!
  }

  move(domain: DomainId): void {
    this.#epochs[domain % EPOCHS]!++
  }

  raise(domain: DomainId, to: number): void {
    this.#epochs[domain % EPOCHS] = Math.max(this.of(domain), to)
  }

  moveAll(): void {
    for (let at = 0; at < EPOCHS; at++) this.#epochs[at]!++
  }
}

export type Prepared = {
  readonly kind: StoredEntry['kind']
  readonly renderedAtMs: number
  readonly bytes: number
}

/** What an entry takes beside its bytes and key. */
const ENTRY_BYTES = 200

/** The entries in memory, and which domain has which. */
class PageMemory<T extends Prepared> {
  readonly #limitBytes: number
  readonly #entries: RecentMap<T>
  readonly #keysOf = new Map<DomainId, Set<string>>()

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
    this.#entries = new RecentMap<T>({ limit: limitBytes, weigh, gone: (key) => this.#forget(key) })
  }

  get bytes(): number {
    return this.#entries.weight
  }

  get entries(): number {
    return this.#entries.size
  }

  get({ key }: PageId): T | undefined {
    return this.#entries.get(key)
  }

  put({ domain, key }: PageId, entry: T): void {
    // One huge page must not evict all others.
    if (weigh(entry, key) > this.#limitBytes / 4) {
      this.#entries.delete(key)
      return
    }
    this.#entries.set(key, entry)
    const keys = this.#keysOf.get(domain)
    if (keys === undefined) this.#keysOf.set(domain, new Set([key]))
    else keys.add(key)
  }

  grown(page: PageId, entry: T): void {
    if (this.#entries.peek(page.key) === entry) this.put(page, entry)
  }

  drop(what: Extract<Invalidation, { domain: DomainId }>): void {
    if (what.kind === 'page') {
      this.#dropOlder(what.page, what.storedMs)
      if (!what.purged) return
    }
    const { domain } = what
    const prefix = what.kind === 'prefix' ? pageKey(domain, what.prefix) : ''
    // A copy, because each deletion changes the set.
    for (const key of [...(this.#keysOf.get(domain) ?? [])]) {
      const isNamed = what.kind === 'domain' || (what.kind === 'prefix' && key.startsWith(prefix))
      // Any purge deletes all redirects of the domain.
      if (isNamed || this.#entries.peek(key)?.kind === 'redirect') this.#entries.delete(key)
    }
  }

  /** Keeps entries as new as `storedMs`: a page that this node stored is cached before its notification arrives. */
  #dropOlder(page: PageId, storedMs: number | null): void {
    for (const { key } of variantsOf(page)) {
      const renderedAtMs = this.#entries.peek(key)?.renderedAtMs ?? 0
      if (renderedAtMs < (storedMs ?? Number.POSITIVE_INFINITY)) this.#entries.delete(key)
    }
  }

  clear(): void {
    this.#entries.clear()
    this.#keysOf.clear()
  }

  #forget(key: string): void {
    const domain = Number(key.slice(0, key.indexOf('/'))) as DomainId
    const keys = this.#keysOf.get(domain)
    keys?.delete(key)
    if (keys?.size === 0) this.#keysOf.delete(domain)
  }
}

function weigh({ bytes }: Prepared, key: string): number {
  return bytes + 2 * key.length + ENTRY_BYTES
}
