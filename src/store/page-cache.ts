import type { DomainId } from '../ids.ts'
import type { Held, Invalidation } from './invalidation.ts'
import type { PageId } from './page-id.ts'
import { createPageMemory, type Prepared } from './page-memory.ts'
import type { StoredEntry, StoredPage } from './stored-page.ts'

type PageCacheOptions<T> = {
  /** Of all entries together; 0 keeps nothing in memory. */
  limitBytes: number
  read(page: PageId): Promise<StoredEntry | null>
  prepare(entry: StoredEntry): T
  /** Whether notifications arrive at this moment. */
  connected(): boolean
}

/**
 * Pages and redirects: from memory, else from PostgreSQL, and then in memory.
 *
 * What PostgreSQL says wins over what is read at the same moment: a read takes
 * its domain's epoch first and is put into memory only if no notification has
 * moved that epoch meanwhile. While notifications are lost, memory is not believed; it answers only
 * when PostgreSQL cannot, and is emptied before it is believed again.
 */
export function createPageCache<T extends Prepared>(options: PageCacheOptions<T>) {
  const { limitBytes, read, prepare, connected } = options
  const memory = createPageMemory<T>(limitBytes)
  const loading = new Map<string, { epoch: number; entry: Promise<T | null> }>()
  const [epochs, purges, stores] = [createEpochs(), createEpochs(), createEpochs()]
  let doubted = !connected()

  /** In memory: the entry itself, without a promise. Rejects when PostgreSQL does and memory cannot help. */
  function find(page: PageId): T | Promise<T | null> {
    return inMemory(page) ?? join(page).then((entry) => entry ?? inMemory(page) ?? null)
  }

  /** Behind a read that found nothing, too: it may have been stored meanwhile, and need not be rendered once more. */
  function inMemory(page: PageId): T | undefined {
    return believed() ? memory.get(page) : undefined
  }

  function join(page: PageId): Promise<T | null> {
    const open = loading.get(page.key)
    return open !== undefined && open.epoch === epochs.of(page.domain) ? open.entry : reread(page)
  }

  /** From PostgreSQL, whatever memory holds: for a reader that knows of a new entry. */
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
    const [trusted, epoch] = [believed(), epochs.of(page.domain)]
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
    if (trusted && believed() && epoch === epochs.of(page.domain)) memory.put(page, entry)
    return entry
  }

  /**
   * Begins to listen for purges. What it gives admits a page that this node has stored since, and makes it ready without
   * a read; null when a purge was heard of or may have been missed. It is not put into memory when a later one was heard of.
   */
  function admission(page: PageId): (stored: StoredPage) => T | null {
    const { domain } = page
    const [trusted, epoch] = [believed(), purges.of(domain)]
    return (stored) => {
      if (!trusted || !believed() || epoch !== purges.of(domain)) return null
      const storedMs = stored.renderedAtMs
      invalidate({ kind: 'page', domain, page, purged: false, storedMs })
      if (stores.of(domain) === storedMs) memory.put(page, prepare({ ...stored, bodyHtml: undefined }))
      return prepare(stored)
    }
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
    doubt: () => {
      doubted = true
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

/** Domains share them: at worst something is done once too often. */
const EPOCHS = 1_024

/** Numbers that move when something is said about a domain: whoever sees one unmoved knows that nothing was. */
function createEpochs() {
  const epochs = new Float64Array(EPOCHS)
  return {
    of: (domain: DomainId): number => epochs[domain % EPOCHS]!,
    move(domain: DomainId): void {
      epochs[domain % EPOCHS]!++
    },
    /** Where the number is a time: the latest that was said. */
    raise(domain: DomainId, to: number): void {
      epochs[domain % EPOCHS] = Math.max(epochs[domain % EPOCHS]!, to)
    },
    moveAll(): void {
      for (let at = 0; at < EPOCHS; at++) epochs[at]!++
    },
  }
}
