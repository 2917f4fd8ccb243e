import { setTimeout as sleep } from 'node:timers/promises'
import type { JobId } from '@prepaint/contract/ids.ts'
import { JOB_DONE_CHANNEL, type JobEnd } from '@prepaint/contract/outcome/job.ts'
import type { StoredPage } from '@prepaint/contract/page/stored.ts'
import type { NotificationSource } from '@prepaint/postgres/listener.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { Abandoned } from '@prepaint/runtime/abandoned.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { readStatement } from '../statement.ts'

export type WaitedFor = JobEnd & { page?: StoredPage | null }

/** Called after the commit; `page`: what was stored, if it differs from before. */
export type Ended = (job: JobId, end: JobEnd, page: StoredPage | null) => void

/** Notifications can be lost, so rows are read this often too while something waits. */
const POLL_MS = 500

/** Jobs of one statement that crawlers have left. */
const MOST_LEFT = 1_000
/** A claim or a join holds the row of a job for some milliseconds. Afterwards the job counts the crawler until its `wait_until`. */
const RETRY_LEFT_MS = 20
const RETRIES_LEFT = 3

/** A crawler that no longer waits. `hasLeft`: it has disconnected, instead of having waited until its deadline. */
type Left = { id: JobId; hasLeft: boolean; tries: number }

type Tell = (end: WaitedFor | 'late') => void

/**
 * Waits for the ends of jobs. A notification only says which rows to read. Rows are also read when a wait begins, after a lost
 * connection, and every `pollMs`. Ends at this node are reported directly, for speed.
 */
export class JobWaiter {
  readonly #pool: pg.Pool
  readonly #log: Log
  readonly #pollMs: number
  readonly #leave = readStatement('leave')
  readonly #dropLeft = readStatement('drop-left')
  readonly #waiters = new Map<JobId, Set<Tell>>()
  readonly #toRead = new Set<JobId>()
  #left: Left[] = []
  #isWritingLeft = false
  #isReading = false
  #poll: NodeJS.Timeout | undefined

  constructor(notifications: NotificationSource, pool: pg.Pool, log: Log, pollMs: number = POLL_MS) {
    this.#pool = pool
    this.#log = log
    this.#pollMs = pollMs
    notifications.on(JOB_DONE_CHANNEL, (payload) => {
      const ended = (payload.split(',') as JobId[]).filter((id) => this.#waiters.has(id))
      if (ended.length > 0) this.#look(ended)
    })
    notifications.onLost(() => this.#look(this.#waiters.keys()))
  }

  /** How many requests of this process wait for a job. */
  readonly waitingFor = (job: JobId): number => this.#waiters.get(job)?.size ?? 0

  get waiting(): number {
    return this.#waiters.size
  }

  /**
   * Resolves with `late` if `signal` is aborted first. Then the job goes on, unless the reason is Abandoned, it does not
   * run yet, and nothing else has asked for it. A deleted job counts as cancelled.
   */
  async wait(jobId: JobId, signal: AbortSignal): Promise<WaitedFor | 'late'> {
    if (signal.aborted) {
      this.#reportLeft(jobId, signal)
      return 'late'
    }
    const { promise, resolve } = Promise.withResolvers<WaitedFor | 'late'>()
    const group = this.#waiters.get(jobId) ?? new Set()
    this.#waiters.set(jobId, group.add(resolve))
    const late = () => {
      this.#reportLeft(jobId, signal)
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

  /** Crawlers that leave in one turn of the event loop, or while others are being reported, share a statement. */
  #reportLeft(id: JobId, { reason }: AbortSignal): void {
    this.#left.push({ id, hasLeft: reason instanceof Abandoned, tries: 0 })
    if (this.#isWritingLeft) return
    this.#isWritingLeft = true
    setImmediate(() => this.#writeLeft())
  }

  async #writeLeft(): Promise<void> {
    try {
      while (this.#left.length > 0) {
        const skipped = await this.#leaveJobs(this.#left.splice(0, MOST_LEFT))
        if (skipped.length === 0) continue
        await sleep(RETRY_LEFT_MS)
        this.#left.push(...skipped)
      }
    } catch (error) {
      // The jobs count them until their `wait_until`.
      this.#log.debug({ err: error }, 'crawlers that left could not be reported')
    } finally {
      this.#isWritingLeft = false
    }
  }

  /** Returns those to try again: their jobs have ended, or are being claimed or joined at the moment. */
  async #leaveJobs(left: readonly Left[]): Promise<Left[]> {
    const { rows } = await this.#pool.query<{ id: JobId; is_abandoned: boolean }>({
      ...this.#leave,
      values: [left.map(({ id }) => id), left.map(({ hasLeft }) => hasLeft)],
    })
    const unwanted = rows.flatMap(({ id, is_abandoned }) => (is_abandoned ? [id] : []))
    if (unwanted.length > 0) await this.#pool.query({ ...this.#dropLeft, values: [unwanted] })
    const counted = new Set(rows.map(({ id }) => id))
    return left.flatMap(({ id, hasLeft, tries }) =>
      counted.has(id) || tries === RETRIES_LEFT ? [] : [{ id, hasLeft, tries: tries + 1 }],
    )
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
  text: `select asked.id, coalesce(j.state, e.state) as state, coalesce(j.outcome, e.outcome) as outcome
           from unnest($1::uuid[]) as asked(id)
           left join job j on j.id = asked.id
           left join lateral (select state, outcome from job_ended where id = asked.id and j.id is null limit 1) e on true
          where j.id is null or j.state not in ('queued', 'running')`,
}

type Row = { id: JobId } & (JobEnd | { state: null; outcome: null })

/** Lists the jobs that have ended. A missing one was deleted: with its domain, or because all its crawlers had left. */
async function readEnds(db: Queryable, ids: readonly JobId[]): Promise<[JobId, JobEnd][]> {
  const { rows } = await db.query<Row>({ ...READ, values: [ids] })
  return rows.map(({ id, state, outcome }) => [
    id,
    state === null ? { state: 'cancelled', outcome: 'domain-gone' } : { state, outcome },
  ])
}
