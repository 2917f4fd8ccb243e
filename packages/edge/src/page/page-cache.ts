import type { DomainId } from '@prepaint/contract/ids.ts'
import { type PageId, pageKey, variantsOf } from '@prepaint/contract/page/page-id.ts'
import type { PageVersion, StoredEntry, StoredPage } from '@prepaint/contract/page/stored.ts'
import { Abandoned, TO_THE_END, type Waiting, WaitingTogether } from '@prepaint/runtime/abandoned.ts'
import { BodyUnavailable } from '@prepaint/runtime/body-unavailable.ts'
import { CacheMarks } from '@prepaint/runtime/cache-marks.ts'
import type { Held, Invalidation } from '@prepaint/runtime/invalidation.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import { within } from '@prepaint/runtime/within.ts'

/** A marked entry is served as it is, and keeps its mark, if PostgreSQL needs longer. */
const COMPARE_MS = 2_000

type PageCacheOptions<T> = {
  /** Limits all entries together; 0 disables the cache. */
  limitBytes: number
  compareMs?: number
  /** Rejects with Abandoned if `isWanted` returns false when the read would begin. */
  read(page: PageId, isWanted: () => boolean): Promise<StoredEntry | null>
  /** Reads what is stored now if it is another version than the known one. */
  readAgain(page: PageId, known: PageVersion, isWanted: () => boolean): Promise<StoredEntry | 'same' | null>
  versionOf(entry: T): PageVersion
  prepare(entry: StoredEntry): T
  /** Whether notifications arrive. */
  connected(): boolean
  /** Whether nothing can be read now: entries are used as they are. */
  isAway(): boolean
}

type Loading<T> = {
  began: Reading
  entry: Promise<T | null>
  waiting: WaitingTogether
  /** A comparison that has taken `compareMs`: it goes on, and nobody waits for it any more. */
  isLate: boolean
}

/** Where a read began: a notification about the domain, or a loss of notifications, may come meanwhile. */
type Reading = { epoch: number; generation: number }

type ReadOf = { began: Reading; isWanted: () => boolean }

/**
 * Keeps pages in memory. Caches a read only if no notification changed the domain's epoch meanwhile. Lost notifications mark
 * all entries: each is compared with PostgreSQL at its next use, and used as it is while PostgreSQL cannot be asked.
 */
export class PageCache<T extends Prepared> {
  readonly #options: PageCacheOptions<T>
  readonly #memory: PageMemory<T>
  readonly #loading = new Map<string, Loading<T>>()
  /** Move with each notification about the domain. */
  readonly #epochs = new Epochs()
  /** Move with each purge, and when notifications are lost. */
  readonly #purges = new Epochs()
  /** The time of the newest page of the domain that was stored. */
  readonly #stores = new Epochs()
  readonly #marks: CacheMarks
  #reads = 0
  readonly held: Held

  constructor(options: PageCacheOptions<T>) {
    this.#options = options
    this.#memory = new PageMemory(options.limitBytes)
    this.#marks = new CacheMarks(options.connected)
    this.held = {
      invalidate: (what) => this.#invalidate(what),
      lost: () => {
        this.#marks.lost()
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

  /** How many requests found their page in memory. */
  get reads(): number {
    return this.#reads
  }

  /** Call once for a request that found its page in memory. */
  noteRead(): void {
    this.#reads++
  }

  /**
   * Rejects if PostgreSQL fails and memory has no entry, and with Abandoned if all responses that waited for the read
   * were destroyed before it began.
   */
  find(page: PageId, waiting: Waiting = TO_THE_END): T | Promise<T | null> {
    const entry = this.inMemory(page)
    if (entry !== undefined) return entry
    return this.#join(page, waiting).then(
      // The page may have been stored while a read found nothing.
      (read) => read ?? this.inMemory(page) ?? null,
      (error: unknown) => {
        // It joined a read that was given up in the same moment.
        if (error instanceof Abandoned && !waiting.destroyed) return this.find(page, waiting)
        throw error
      },
    )
  }

  /** Returns undefined if the page is not there, or must be compared with PostgreSQL. */
  inMemory(page: PageId): T | undefined {
    const held = this.#memory.get(page)
    if (held === undefined) return undefined
    return this.#marks.isMarked(held.stamp) && !this.#options.isAway() ? undefined : held.entry
  }

  /** Reads the page again, for a caller that knows of a newer entry. */
  reread(page: PageId): Promise<T | null> {
    return this.#open(page, TO_THE_END, (loading) => this.#load(page, loading)).entry
  }

  /**
   * Call before rendering. The result caches the page that this node stored, unless a newer one is stored.
   * Returns null if the domain was purged, or notifications were lost, in between.
   */
  admission(page: PageId): (stored: StoredPage) => T | null {
    const { domain } = page
    const { prepare, connected } = this.#options
    const epoch = this.#purges.of(domain)
    const isConnected = connected()
    return (stored) => {
      if (!isConnected || epoch !== this.#purges.of(domain)) return null
      const storedMs = stored.renderedAtMs
      this.#invalidate({ kind: 'page', domain, page, purged: false, storedMs })
      if (this.#stores.of(domain) === storedMs) {
        const { generation } = this.#marks.begin()
        this.#memory.put(page, prepare({ ...stored, bodyHtml: undefined }), generation)
      }
      return prepare(stored)
    }
  }

  /** Call when the bytes of an entry have grown: it is weighed again if it is still in memory. */
  grown(page: PageId, entry: T): void {
    this.#memory.grown(page, entry)
  }

  /** Without an answer in time gives what memory has. The read goes on: its answer takes the mark for those who come later. */
  async #join(page: PageId, waiting: Waiting): Promise<T | null> {
    const { compareMs = COMPARE_MS } = this.#options
    const held = this.#memory.get(page)
    const loading = this.#joinRead(page, waiting, held)
    if (held === undefined) return loading.entry
    if (loading.isLate) return held.entry
    const entry = await within(compareMs, loading.entry, 'late' as const)
    if (entry !== 'late') return entry
    loading.isLate = true
    return held.entry
  }

  #joinRead(page: PageId, waiting: Waiting, held: HeldEntry<T> | undefined): Loading<T> {
    const open = this.#loading.get(page.key)
    const now = this.#begin(page)
    if (open?.began.epoch === now.epoch && open.began.generation === now.generation) {
      open.waiting.join(waiting)
      return open
    }
    return this.#open(page, waiting, (loading) =>
      held === undefined ? this.#load(page, loading) : this.#compare(page, held, loading),
    )
  }

  #open(page: PageId, first: Waiting, read: (loading: ReadOf) => Promise<T | null>): Loading<T> {
    const began = this.#begin(page)
    const waiting = new WaitingTogether(first)
    const open = { began, waiting, entry: read({ began, isWanted: waiting.isWanted }), isLate: false }
    this.#loading.set(page.key, open)
    const end = () => {
      if (this.#loading.get(page.key) === open) this.#loading.delete(page.key)
    }
    open.entry.then(end, end)
    return open
  }

  #begin({ domain }: PageId): Reading {
    return { epoch: this.#epochs.of(domain), generation: this.#marks.begin().generation }
  }

  async #load(page: PageId, { began, isWanted }: ReadOf): Promise<T | null> {
    let stored: StoredEntry | null
    try {
      stored = await this.#options.read(page, isWanted)
    } catch (error) {
      const held = this.#memory.get(page)
      // Its row is there, with another body than that in memory.
      if (held === undefined || error instanceof BodyUnavailable) throw error
      return held.entry
    }
    return this.#keep(page, stored, began)
  }

  /** Takes the mark from an entry that is still stored, or replaces it. If the read fails, it stays as it is. */
  async #compare(page: PageId, held: HeldEntry<T>, { began, isWanted }: ReadOf): Promise<T | null> {
    const { readAgain, versionOf } = this.#options
    let found: StoredEntry | 'same' | null
    try {
      found = await readAgain(page, versionOf(held.entry), isWanted)
    } catch (error) {
      // PostgreSQL has answered: the page is another one.
      if (error instanceof BodyUnavailable) throw error
      return held.entry
    }
    if (found !== 'same') return this.#keep(page, found, began)
    if (began.epoch === this.#epochs.of(page.domain)) held.stamp = began.generation
    return held.entry
  }

  #keep(page: PageId, stored: StoredEntry | null, began: Reading): T | null {
    const isCurrent = began.epoch === this.#epochs.of(page.domain)
    if (stored === null) {
      if (isCurrent) this.#memory.delete(page)
      return null
    }
    const entry = this.#options.prepare(stored)
    if (isCurrent) this.#memory.put(page, entry, began.generation)
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

type HeldEntry<T> = { readonly entry: T; stamp: number }

/** The entries in memory, and which domain has which. */
class PageMemory<T extends Prepared> {
  readonly #limitBytes: number
  readonly #entries: RecentMap<HeldEntry<T>>
  readonly #keysOf = new Map<DomainId, Set<string>>()

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
    this.#entries = new RecentMap({
      limit: limitBytes,
      weigh: ({ entry }, key) => weigh(entry, key),
      gone: (key) => this.#forget(key),
    })
  }

  get bytes(): number {
    return this.#entries.weight
  }

  get entries(): number {
    return this.#entries.size
  }

  get({ key }: PageId): HeldEntry<T> | undefined {
    return this.#entries.get(key)
  }

  put({ domain, key }: PageId, entry: T, stamp: number): void {
    // One huge page must not evict all others.
    if (weigh(entry, key) > this.#limitBytes / 4) {
      this.#entries.delete(key)
      return
    }
    this.#entries.set(key, { entry, stamp })
    const keys = this.#keysOf.get(domain)
    if (keys === undefined) this.#keysOf.set(domain, new Set([key]))
    else keys.add(key)
  }

  grown(page: PageId, entry: T): void {
    const held = this.#entries.peek(page.key)
    if (held?.entry === entry) this.put(page, entry, held.stamp)
  }

  delete({ key }: PageId): void {
    this.#entries.delete(key)
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
      if (isNamed || this.#entries.peek(key)?.entry.kind === 'redirect') this.#entries.delete(key)
    }
  }

  /** Keeps entries as new as `storedMs`: a page that this node stored is cached before its notification arrives. */
  #dropOlder(page: PageId, storedMs: number | null): void {
    for (const { key } of variantsOf(page)) {
      const renderedAtMs = this.#entries.peek(key)?.entry.renderedAtMs ?? 0
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
