import type pg from 'pg'
import type { Listener } from '../../db/listener.ts'
import type { Queryable } from '../../db/transaction.ts'
import type { JobId } from '../../ids.ts'
import type { Log } from '../../log.ts'
import type { StoredPage } from '../../store/stored-page.ts'
import { readStatement } from '../statement.ts'
import { JOB_DONE_CHANNEL, type JobEnd } from './job.ts'

/** How a job ended; `page`: what it stored, if this node stored it just now and it differs from before. */
export type WaitedFor = JobEnd & { page?: StoredPage | null }

/** Called after the commit that ends a job; `page`: what was stored, if it differs from before. */
export type Ended = (job: JobId, end: JobEnd, page: StoredPage | null) => void

export type JobWaiter = {
  /**
   * Resolves when the job ends, or with `late` when `signal` is aborted first: then the job no longer counts this
   * caller of `enqueueLive` as waiting. A job that was deleted counts as cancelled.
   */
  wait(jobId: JobId, signal: AbortSignal): Promise<WaitedFor | 'late'>
  /** For the worker of the same node: saves the way through PostgreSQL, and reading what was stored. */
  ended: Ended
  /** Jobs waited for at this moment. */
  readonly waiting: number
  /** Ends all waits with `late`. */
  close(): void
}

/** In case a notification was lost and the listener did not notice. */
const POLL_MS = 500

/**
 * Waits for ends of jobs. A notification only says which row to read: the row is
 * read when a wait begins (listening began before, so no end is missed), when
 * notified, after a lost connection, and twice a second, with one query for all
 * waits. The worker of this node reports its ends directly, only for speed.
 * `pollMs`: for tests.
 */
export function createJobWaiter(
  notifications: Pick<Listener, 'on' | 'onLost'>,
  pool: pg.Pool,
  log: Log,
  pollMs: number = POLL_MS,
): JobWaiter {
  const waiters = new Map<JobId, Set<(end: WaitedFor | 'late') => void>>()
  const leaveStatement = readStatement('leave')
  const toRead = new Set<JobId>()
  let left: JobId[] = []
  let reading = false
  let poll: NodeJS.Timeout | undefined

  notifications.on(JOB_DONE_CHANNEL, (id) => {
    if (waiters.has(id as JobId)) look([id as JobId])
  })
  notifications.onLost(() => look(waiters.keys()))

  function look(ids: Iterable<JobId>): void {
    for (const id of ids) toRead.add(id)
    // In the next turn of the event loop, so that ends that come together are read together.
    if (!reading && toRead.size > 0) {
      reading = true
      setImmediate(() => void read())
    }
  }

  async function read(): Promise<void> {
    try {
      while (toRead.size > 0) {
        const ids = [...toRead]
        toRead.clear()
        for (const [id, end] of await readEnds(pool, ids)) settle(id, end)
      }
    } catch (error) {
      // The poll reads them again.
      log.debug({ err: error }, 'ends of jobs could not be read')
    } finally {
      reading = false
    }
  }

  /** Crawlers that leave together are reported together. */
  function leave(id: JobId): void {
    if (left.push(id) === 1) setImmediate(() => void reportLeft())
  }

  async function reportLeft(): Promise<void> {
    const ids = left
    left = []
    await pool.query({ ...leaveStatement, values: [ids] }).catch((error: Error) => {
      // The job counts them until its `wait_until`.
      log.debug({ err: error }, 'crawlers that left could not be reported')
    })
  }

  function settle(id: JobId, end: WaitedFor | 'late'): void {
    for (const tell of waiters.get(id) ?? []) tell(end)
  }

  function forget(id: JobId, tell: (end: WaitedFor | 'late') => void): void {
    const group = waiters.get(id)
    group?.delete(tell)
    if (group?.size === 0) waiters.delete(id)
    if (waiters.size > 0) return
    clearInterval(poll)
    poll = undefined
  }

  return {
    async wait(id, signal) {
      if (signal.aborted) {
        leave(id)
        return 'late'
      }
      const { promise, resolve } = Promise.withResolvers<WaitedFor | 'late'>()
      const group = waiters.get(id)
      if (group === undefined) waiters.set(id, new Set([resolve]))
      else group.add(resolve)
      const late = () => {
        leave(id)
        resolve('late')
      }
      signal.addEventListener('abort', late)
      poll ??= setInterval(() => look(waiters.keys()), pollMs)
      look([id])
      try {
        return await promise
      } finally {
        signal.removeEventListener('abort', late)
        forget(id, resolve)
      }
    },
    ended: (id, end, page) => settle(id, { ...end, page }),
    get waiting() {
      return waiters.size
    },
    close() {
      for (const id of waiters.keys()) settle(id, 'late')
    },
  }
}

const READ = {
  name: 'queue-read-ends',
  text: `select asked.id, j.state, j.outcome
           from unnest($1::uuid[]) as asked(id) left join job j on j.id = asked.id
          where j.id is null or j.state not in ('queued', 'running')`,
}

type Row = { id: JobId } & (JobEnd | { state: null; outcome: null })

/** Those of the jobs that have ended, and how. A job that is gone went with its domain. */
async function readEnds(db: Queryable, ids: readonly JobId[]): Promise<[JobId, JobEnd][]> {
  const { rows } = await db.query<Row>({ ...READ, values: [ids] })
  return rows.map(({ id, state, outcome }) => [
    id,
    state === null ? { state: 'cancelled', outcome: 'domain-gone' } : { state, outcome },
  ])
}
