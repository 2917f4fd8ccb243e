import type pg from 'pg'
import type { Listener } from '../../db/listener.ts'
import type { Queryable } from '../../db/transaction.ts'
import type { JobId } from '../../ids.ts'
import type { Log } from '../../log.ts'
import { PAGE_VARIANTS, type PageId, type PageVariant } from '../../store/page-id.ts'
import type { StoredPage } from '../../store/stored-page.ts'
import { readStatement } from '../statement.ts'
import { JOB_DONE_CHANNEL, type JobEnd, type JobOutcome } from './job.ts'

export type WaitedFor = JobEnd & { page?: StoredPage | null }

/** Called after the commit; `page`: what was stored, if it differs from before. */
export type Ended = (job: { id: JobId; page: PageId }, end: JobEnd, page: StoredPage | null) => void

export type JobWaiter = {
  /** Resolves with `late` if `signal` is aborted first. A deleted job counts as cancelled. */
  wait(jobId: JobId, signal: AbortSignal, variant?: PageVariant): Promise<WaitedFor | 'late'>
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
  // By variant: a job of both ends for crawlers of the first one before it ends.
  const waiters = new Map<Key, Set<(end: WaitedFor | 'late') => void>>()
  const leaveStatement = readStatement('leave')
  const toRead = new Set<Key>()
  let left: JobId[] = []
  let reading = false
  let poll: NodeJS.Timeout | undefined

  notifications.on(JOB_DONE_CHANNEL, (id) => {
    look(PAGE_VARIANTS.map((variant) => keyOf(id as JobId, variant)).filter((key) => waiters.has(key)))
  })
  notifications.onLost(() => look(waiters.keys()))

  function look(keys: Iterable<Key>): void {
    for (const key of keys) toRead.add(key)
    if (!reading && toRead.size > 0) {
      reading = true
      setImmediate(() => void read())
    }
  }

  async function read(): Promise<void> {
    try {
      while (toRead.size > 0) {
        const keys = [...toRead]
        toRead.clear()
        for (const [key, end] of await readEnds(pool, keys)) settle(key, end)
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

  function settle(key: Key, end: WaitedFor | 'late'): void {
    for (const tell of waiters.get(key) ?? []) tell(end)
  }

  function forget(key: Key, tell: (end: WaitedFor | 'late') => void): void {
    const group = waiters.get(key)
    group?.delete(tell)
    if (group?.size === 0) waiters.delete(key)
    if (waiters.size > 0) return
    clearInterval(poll)
    poll = undefined
  }

  return {
    async wait(id, signal, variant = 'desktop') {
      const key = keyOf(id, variant)
      if (signal.aborted) {
        leave(id)
        return 'late'
      }
      const { promise, resolve } = Promise.withResolvers<WaitedFor | 'late'>()
      const group = waiters.get(key)
      if (group === undefined) waiters.set(key, new Set([resolve]))
      else group.add(resolve)
      const late = () => {
        leave(id)
        resolve('late')
      }
      signal.addEventListener('abort', late)
      poll ??= setInterval(() => look(waiters.keys()), pollMs)
      look([key])
      try {
        return await promise
      } finally {
        signal.removeEventListener('abort', late)
        forget(key, resolve)
      }
    },
    ended: ({ id, page: { variant } }, end, page) => settle(keyOf(id, variant), { ...end, page }),
    get waiting() {
      return waiters.size
    },
    close() {
      for (const key of waiters.keys()) settle(key, 'late')
    },
  }
}

// A job of both has failed where one render has: that of `mobile` may have been stored.
const READ = {
  name: 'queue-read-ends',
  text: `select asked.id, asked.variant, case when not own.is_stored then j.outcome end as outcome,
                case when own.is_stored then 'done'
                     when j.state in ('done', 'failed', 'cancelled') then j.state
                     when j.id is not null then case when j.outcome is null then 'done' else 'failed' end end as state
           from unnest($1::uuid[], $2::text[]) as asked(id, variant) left join job j on j.id = asked.id
          cross join lateral (
            select coalesce(asked.variant = 'mobile' and j.is_both and has_mobile(j), false) as is_stored) own
          where j.id is null or j.state not in ('queued', 'running') or (asked.variant = 'desktop' and j.is_both
                and j.variant = 'mobile')`,
}

type Key = `${string} ${PageVariant}`

function keyOf(id: JobId, variant: PageVariant): Key {
  return `${id} ${variant}`
}

type Row = { id: JobId; variant: PageVariant; state: JobEnd['state'] | null; outcome: JobOutcome | null }

/** A missing job was deleted with its domain. */
async function readEnds(db: Queryable, keys: readonly Key[]): Promise<[Key, JobEnd][]> {
  const asked = keys.map((key) => key.split(' '))
  const values = [asked.map(([id]) => id), asked.map(([, variant]) => variant)]
  const { rows } = await db.query<Row>({ ...READ, values })
  return rows.map(({ id, variant, state, outcome }) => [
    keyOf(id, variant),
    state === null
      ? { state: 'cancelled', outcome: 'domain-gone' }
      : { state, outcome: outcome ?? 'rendered' },
  ])
}
