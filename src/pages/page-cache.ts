import type { DomainId, PagePath } from '../ids.ts'
import type { Held, Invalidation } from './invalidation.ts'
import { createPageMemory, type PageKey, type Prepared } from './page-memory.ts'
import type { StoredEntry } from './stored-page.ts'

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
  const memory = createPageMemory<T>(limitBytes)
  const loading = new Map<string, { epoch: number; entry: Promise<T | null> }>()
  const epochs = new Uint32Array(EPOCHS)
  const epochOf = ({ domain }: PageKey): number => epochs[domain % EPOCHS]!
  let doubted = !connected()

  /** In memory: the entry itself, without a promise. Rejects when PostgreSQL does and memory cannot help. */
  function find(key: PageKey): T | Promise<T | null> {
    return (believed() ? memory.get(key) : undefined) ?? join(key)
  }

  function join(key: PageKey): Promise<T | null> {
    const open = loading.get(key.text)
    return open !== undefined && open.epoch === epochOf(key) ? open.entry : reread(key)
  }

  /** From PostgreSQL, whatever memory holds: for a reader that knows of a new entry. */
  function reread(key: PageKey): Promise<T | null> {
    const open = { epoch: epochOf(key), entry: load(key) }
    loading.set(key.text, open)
    const end = () => {
      if (loading.get(key.text) === open) loading.delete(key.text)
    }
    open.entry.then(end, end)
    return open.entry
  }

  async function load(key: PageKey): Promise<T | null> {
    const [trusted, epoch] = [believed(), epochOf(key)]
    let stored: StoredEntry | null
    try {
      stored = await read(key.domain, key.path)
    } catch (error) {
      const held = memory.get(key)
      if (held === undefined) throw error
      return held
    }
    if (stored === null) return null
    const entry = prepare(stored)
    if (trusted && believed() && epoch === epochOf(key)) memory.put(key, entry)
    return entry
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
    moveEpochs()
  }

  function moveEpochs(): void {
    for (let at = 0; at < EPOCHS; at++) epochs[at]!++
  }

  function invalidate(what: Invalidation): void {
    if (what.kind === 'everything') clear()
    else if ('domain' in what) {
      epochs[what.domain % EPOCHS]!++
      memory.drop(what)
    }
  }

  const held: Held = {
    invalidate,
    doubt: () => {
      doubted = true
      moveEpochs()
    },
  }
  return { find, reread, grown: memory.grown, held, bytes: memory.bytes, entries: memory.entries }
}

export type PageCache<T extends Prepared> = ReturnType<typeof createPageCache<T>>
