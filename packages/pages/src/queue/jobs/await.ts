import type { JobId } from '@prepaint/contract/ids.ts'
import { JOB_DONE_CHANNEL, type JobEnd } from '@prepaint/contract/outcome/job.ts'
import type { StoredPage } from '@prepaint/contract/page/stored.ts'
import type { NotificationSource } from '@prepaint/postgres/listener.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { readStatement } from '../statement.ts'

export type WaitedFor = JobEnd & { page?: StoredPage | null }

/** Called after the commit; `page`: what was stored, if it differs from before. */
export type Ended = (job: JobId, end: JobEnd, page: StoredPage | null) => void

/** NotificationSource can be lost, so rows are read this often too while something waits. */
const POLL_MS = 500

type Tell = (end: WaitedFor | 'late') => void

/**
 * Waits for the ends of jobs. NotificationSource only say which row to read. Rows are also read when a wait begins, after a lost
 * connection, and every `pollMs`. Ends at this node are reported directly, for speed.
 */
export class JobWaiter {
  readonly #pool: pg.Pool
  readonly #log: Log
  readonly #pollMs: number
  readonly #leave = readStatement('leave')
  readonly #waiters = new Map<JobId, Set<Tell>>()
  readonly #toRead = new Set<JobId>()
  #left: JobId[] = []
  #isReading = false
  #poll: NodeJS.Timeout | undefined

  constructor(notifications: NotificationSource, pool: pg.Pool, log: Log, pollMs: number = POLL_MS) {
    this.#pool = pool
    this.#log = log
    this.#pollMs = pollMs
    notifications.on(JOB_DONE_CHANNEL, (id) => {
      if (this.#waiters.has(id as JobId)) this.#look([id as JobId])
    })
    notifications.onLost(() => this.#look(this.#waiters.keys()))
  }

  get waiting(): number {
    return this.#waiters.size
  }

  /** Resolves with `late` if `signal` is aborted first. A deleted job counts as cancelled. */
  async wait(jobId: JobId, signal: AbortSignal): Promise<WaitedFor | 'late'> {
    if (signal.aborted) {
      this.#reportLeft(jobId)
      return 'late'
    }
    const { promise, resolve } = Promise.withResolvers<WaitedFor | 'late'>()
    const group = this.#waiters.get(jobId) ?? new Set()
    this.#waiters.set(jobId, group.add(resolve))
    const late = () => {
      this.#reportLeft(jobId)
      resolve('late')
    }
    signal.addEventListener('abort', late)
    this.#poll ??= setInterval(() => this.#look(this.#waiters.keys()), this.#pollMs)
    this.#look([jobId])
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', late)
      this.#forget(jobId, resolve)
    }
  }

  /** Call from the worker of this node: saves a round trip and a read of the page. */
  readonly ended: Ended = (job, end, page) => this.#settle(job, { ...end, page })

  close(): void {
    for (const id of this.#waiters.keys()) this.#settle(id, 'late')
  }

  #look(ids: Iterable<JobId>): void {
    for (const id of ids) this.#toRead.add(id)
    if (this.#isReading || this.#toRead.size === 0) return
    this.#isReading = true
    setImmediate(() => this.#read())
  }

  async #read(): Promise<void> {
    try {
      while (this.#toRead.size > 0) {
        const ids = [...this.#toRead]
        this.#toRead.clear()
        for (const [id, end] of await readEnds(this.#pool, ids)) this.#settle(id, end)
      }
    } catch (error) {
      // The poll retries.
      this.#log.debug({ err: error }, 'ends of jobs could not be read')
    } finally {
      this.#isReading = false
    }
  }

  /** Crawlers that leave in one turn of the event loop share a statement. */
  #reportLeft(id: JobId): void {
    this.#left.push(id)
    if (this.#left.length === 1) setImmediate(() => this.#writeLeft())
  }

  async #writeLeft(): Promise<void> {
    const ids = this.#left
    this.#left = []
    await this.#pool.query({ ...this.#leave, values: [ids] }).catch((error: Error) => {
      // The job counts them until its `wait_until`.
      this.#log.debug({ err: error }, 'crawlers that left could not be reported')
    })
  }

  #settle(id: JobId, end: WaitedFor | 'late'): void {
    for (const tell of this.#waiters.get(id) ?? []) tell(end)
  }

  #forget(id: JobId, tell: Tell): void {
    const group = this.#waiters.get(id)
    group?.delete(tell)
    if (group?.size === 0) this.#waiters.delete(id)
    if (this.#waiters.size > 0) return
    clearInterval(this.#poll)
    this.#poll = undefined
  }
}

const READ = {
  name: 'queue-read-ends',
  text: `select asked.id, j.state, j.outcome
           from unnest($1::uuid[]) as asked(id) left join job j on j.id = asked.id
          where j.id is null or j.state not in ('queued', 'running')`,
}

type Row = { id: JobId } & (JobEnd | { state: null; outcome: null })

/** A missing job was deleted with its domain. */
async function readEnds(db: Queryable, ids: readonly JobId[]): Promise<[JobId, JobEnd][]> {
  const { rows } = await db.query<Row>({ ...READ, values: [ids] })
  return rows.map(({ id, state, outcome }) => [
    id,
    state === null ? { state: 'cancelled', outcome: 'domain-gone' } : { state, outcome },
  ])
}
