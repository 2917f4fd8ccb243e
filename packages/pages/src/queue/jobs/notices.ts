import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import {
  JOB_DONE_CHANNEL,
  JOB_QUEUED_CHANNEL,
  type Priority,
  priorityNumber,
} from '@prepaint/contract/outcome/job.ts'
import { INVALIDATE_CHANNEL, type StoredPath, storedPayload } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'

/** Ends of renders are gathered for so long. */
const GATHER_MS = 20
/** So many are told without waiting for more. */
export const GATHERED_AT_ONCE = 500
/** PostgreSQL takes 7,999 bytes. */
export const PAYLOAD_BYTES = 7_900
const RETRY_MS = 500
/** While nothing can be told. Beyond, nodes are told to forget what they have in memory. */
export const WAITING_LIMIT = 20_000
const EVERYTHING = '{}'

type Waiting = {
  stored: StoredPath[]
  awaited: JobId[]
  ended: JobId[]
  queued: Set<Priority>
  isOverflown: boolean
}

/**
 * Tells other nodes which pages were stored, and which jobs ended or wait again. A commit that notifies holds a lock of the whole server
 * until it is replicated. So renders notify of nothing in their own commits: what ended is gathered for 20 ms and told in one
 * transaction that waits for no disk and no replica. If this node dies before, the others mark their memory.
 */
export class Notices {
  readonly #pool: pg.Pool
  readonly #log: Log
  readonly #tellOwn: (payload: string) => void
  #waiting = nothing()
  #timer: NodeJS.Timeout | undefined
  #telling: Promise<void> | null = null
  #isFailing = false
  #isClosing = false
  #commits = 0

  /** `tellOwn` tells the caches of this node, which need not wait. */
  constructor(pool: pg.Pool, log: Log, tellOwn: (payload: string) => void = () => {}) {
    this.#pool = pool
    this.#log = log
    this.#tellOwn = tellOwn
  }

  /** How many transactions have told something. */
  get commits(): number {
    return this.#commits
  }

  /** Call after the commit. Entries in memory that are as new as `storedMs` stay. */
  pageStored(page: { domain: DomainId; path: PagePath }, storedMs: number): void {
    const stored: StoredPath = [page.domain, page.path, storedMs]
    this.#tellOwn(storedPayload([stored]))
    if (this.#waiting.stored.length >= WAITING_LIMIT) this.#waiting.isOverflown = true
    else this.#waiting.stored.push(stored)
    this.#plan()
  }

  /** Call after the commit. `isAwaited`: a crawler waits at another node, which is told at once. */
  jobEnded(job: JobId, isAwaited: boolean): void {
    const jobs = isAwaited ? this.#waiting.awaited : this.#waiting.ended
    // Who waits looks at the row, too; live updates of so many ends are read anew.
    if (jobs.length < WAITING_LIMIT) jobs.push(job)
    this.#plan()
  }

  /** Call after the commit. A render was given back, or is repeated, so that each node may claim its job. */
  jobQueued(priority: Priority): void {
    this.#waiting.queued.add(priority)
    this.#plan()
  }

  /** Tells what waits, once. Call when nothing ends any more. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#timer)
    await this.#telling
    await this.#tell()
  }

  /** One transaction at a time: meanwhile further ends gather. */
  #plan(): void {
    if (this.#telling !== null || this.#isFailing || this.#isClosing) return
    const { stored, awaited, ended } = this.#waiting
    const isNow = awaited.length > 0 || stored.length + ended.length >= GATHERED_AT_ONCE
    if (isNow) this.#begin()
    else this.#timer ??= setTimeout(() => this.#begin(), GATHER_MS)
  }

  #begin(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#telling = this.#tell().finally(() => {
      this.#telling = null
      if (!isEmpty(this.#waiting)) this.#plan()
    })
  }

  async #tell(): Promise<void> {
    const told = this.#waiting
    if (isEmpty(told)) return
    this.#waiting = nothing()
    const notices = noticesOf(told)
    try {
      await this.#pool.query({
        name: 'tell-renders',
        text: `with quick as (select set_config('synchronous_commit', 'off', true))
               select pg_notify(channel, payload) from quick, unnest($1::text[], $2::text[]) as n (channel, payload)`,
        values: [notices.map(({ channel }) => channel), notices.map(({ payload }) => payload)],
      })
      this.#commits++
    } catch (error) {
      this.#log.debug({ err: (error as Error).message }, 'ends of renders could not be told; trying again')
      this.#putBack(told)
      this.#retryLater()
    }
  }

  #retryLater(): void {
    if (this.#isClosing) return
    this.#isFailing = true
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#isFailing = false
      this.#plan()
    }, RETRY_MS).unref()
  }

  #putBack({ stored, awaited, ended, queued, isOverflown }: Waiting): void {
    const waiting = this.#waiting
    waiting.isOverflown ||= isOverflown || stored.length + waiting.stored.length > WAITING_LIMIT
    waiting.stored = [...stored, ...waiting.stored].slice(0, WAITING_LIMIT)
    waiting.awaited = [...awaited, ...waiting.awaited].slice(0, WAITING_LIMIT)
    waiting.ended = [...ended, ...waiting.ended].slice(0, WAITING_LIMIT)
    for (const priority of queued) waiting.queued.add(priority)
  }
}

function nothing(): Waiting {
  return { stored: [], awaited: [], ended: [], queued: new Set(), isOverflown: false }
}

function isEmpty({ stored, awaited, ended, queued }: Waiting): boolean {
  return stored.length + awaited.length + ended.length + queued.size === 0
}

function noticesOf({ stored, awaited, ended, queued, isOverflown }: Waiting): {
  channel: string
  payload: string
}[] {
  const pages = isOverflown ? [EVERYTHING] : pieces(stored, storedPayload)
  const jobs = pieces([...awaited, ...ended], (ids) => ids.join())
  return [
    ...pages.map((payload) => ({ channel: INVALIDATE_CHANNEL, payload })),
    ...jobs.map((payload) => ({ channel: JOB_DONE_CHANNEL, payload })),
    ...[...queued].map((priority) => ({
      channel: JOB_QUEUED_CHANNEL,
      payload: String(priorityNumber(priority)),
    })),
  ]
}

/** Writes items into as few payloads as hold them. */
function pieces<Item>(items: readonly Item[], write: (items: readonly Item[]) => string): string[] {
  const payloads: string[] = []
  let piece: Item[] = []
  let bytes = 0
  const frame = Buffer.byteLength(write([]))
  for (const item of items) {
    // With the comma behind it.
    const size = Buffer.byteLength(write([item])) - frame + 1
    if (piece.length > 0 && frame + bytes + size > PAYLOAD_BYTES) {
      payloads.push(write(piece))
      piece = []
      bytes = 0
    }
    piece.push(item)
    bytes += size
  }
  if (piece.length > 0) payloads.push(write(piece))
  return payloads
}
