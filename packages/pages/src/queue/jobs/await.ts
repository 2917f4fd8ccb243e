import type { JobId } from '@prepaint/contract/ids.ts'
import { JOB_DONE_CHANNEL, type JobEnd } from '@prepaint/contract/outcome/job.ts'
import type { StoredPage } from '@prepaint/contract/page/stored.ts'
import type { Listener } from '@prepaint/postgres/listener.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { readStatement } from '../statement.ts'

export type WaitedFor = JobEnd & { page?: StoredPage | null }

/** Called after the commit; `page`: what was stored, if it differs from before. */
export type Ended = (job: JobId, end: JobEnd, page: StoredPage | null) => void

export type JobWaiter = {
  /** Resolves with `late` if `signal` is aborted first. A deleted job counts as cancelled. */
  wait(jobId: JobId, signal: AbortSignal): Promise<WaitedFor | 'late'>
  /** Call from the worker of this node: saves a round trip and a read of the page. */
  ended: Ended
  readonly waiting: number
  close(): void
}

/** In case a notification was lost. */
const POLL_MS = 500

/**
 * Notifications only say which row to read. Rows are also read when a wait begins, after a lost connection, and every
 * `pollMs`.
 * Ends at this node are reported directly, for speed.
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
      // The poll retries.
      log.debug({ err: error }, 'ends of jobs could not be read')
    } finally {
      reading = false
    }
  }

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

/** A missing job was deleted with its domain. */
async function readEnds(db: Queryable, ids: readonly JobId[]): Promise<[JobId, JobEnd][]> {
  const { rows } = await db.query<Row>({ ...READ, values: [ids] })
  return rows.map(({ id, state, outcome }) => [
    id,
    state === null ? { state: 'cancelled', outcome: 'domain-gone' } : { state, outcome },
  ])
}
