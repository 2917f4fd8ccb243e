import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import { type Priority, priorityNumber } from '@prepaint/contract/outcome/job.ts'
import type { AskedPage, PageId, PageVariant } from '@prepaint/contract/page/page-id.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { errorCode } from '@prepaint/postgres/connection.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { overQuota, readQuota } from '../../quota.ts'
import { readDevices } from '../../store/device-pages.ts'
import { deletePages } from '../../store/purge.ts'
import { rememberSpelling } from './spelling.ts'

/** The most live jobs of the whole fleet. Crawlers would not wait for a longer queue. */
export const LIVE_BOUND = 10_000

/**
 * The most waiting jobs of the whole fleet. `refresh` and `warm` share one limit. An account may have as many as are still free,
 * so half of them at most, and a fiftieth also where others have filled the rest.
 */
const BOUND: Readonly<Record<Priority, number>> = { live: LIVE_BOUND, refresh: 1_000_000, warm: 1_000_000 }

// SQL functions of packages/pages/src/queue/functions.sql, because they take a lock before they read.
const ENQUEUE = {
  name: 'queue-enqueue',
  text: 'select path, job_id from enqueue_jobs($1, $2, $3, $4, $5, $6)',
}
const ENQUEUE_LIVE = {
  name: 'queue-enqueue-live',
  text: `select enqueue_live_job($1, $2, $7, $3, $4, $5 * interval '1 millisecond', $6) as job_id`,
}

/**
 * Returns one job per path, in the given order without duplicates; joins open jobs and raises their priority. A
 * running job does not run again (a purge repeats it). Without `variant` the domain's devices decide.
 * Throws `queue_full` if not all fit, and queues none; or `domain_not_found`. Several paths lock out other bulk enqueues of the domain until the transaction ends.
 */
export async function enqueue(
  db: Queryable,
  domain: DomainId,
  paths: readonly PagePath[],
  priority: Priority,
  { bound = BOUND[priority], variant }: { bound?: number; variant?: PageVariant | 'both' } = {},
): Promise<{ path: PagePath; jobId: JobId }[]> {
  const unique = [...new Set(paths)]
  if (unique.length === 0) return []
  const devices = variant === undefined ? await readDevices(db, domain) : null
  const areBoth = unique.map((path) => variant === 'both' || devices?.tellsApart(path) === true)
  const first = variant === 'mobile' ? 'mobile' : 'desktop'
  const { rows } = await ofDomain(
    db.query<{ path: PagePath; job_id: JobId }>({
      ...ENQUEUE,
      values: [domain, unique, first, areBoth, priorityNumber(priority), bound],
    }),
  )
  if (rows.length === 0) throw new AppError('queue_full', { detail: `no room for ${unique.length} jobs` })
  const jobs = new Map(rows.map(({ path, job_id }) => [path, job_id]))
  return unique.flatMap((path) => {
    const jobId = jobs.get(path)
    return jobId === undefined ? [] : [{ path, jobId }]
  })
}

/** Deletes the stored pages first. Call inside a transaction. */
export async function refreshPages(
  client: Queryable,
  domain: DomainId,
  paths: readonly PagePath[],
): Promise<{ path: PagePath; jobId: JobId }[]> {
  await deletePages(client, domain, { kind: 'paths', paths }, 'refresh')
  return enqueue(client, domain, paths, 'refresh')
}

/**
 * The stored pages are served until the new ones are stored, and stay where a render fails. Call inside a transaction, and
 * throws as `enqueue` does.
 */
export function rerenderPages(
  client: Queryable,
  domain: DomainId,
  paths: readonly PagePath[],
): Promise<{ path: PagePath; jobId: JobId }[]> {
  return enqueue(client, domain, paths, 'refresh')
}

/** `crawler`: its kind, where rules tell crawlers apart. Throws as `enqueueLive` does. */
export type EnqueueLive = (
  page: AskedPage,
  requestId: string,
  crawler?: string | null,
) => Promise<JobId | 'over-quota'>

/** Enqueues at a node that does not render. `db` has a time limit, see packages/postgres/src/away/availability.ts. */
export function createEnqueueLive(
  db: Queryable,
  pool: Queryable,
  plans: PlanCatalogue,
  clock: Clock,
  liveWaitMs: number,
): EnqueueLive {
  return async (page, requestId, crawler) => {
    const quota = await readQuota(db, plans, page.domain, clock.nowMs())
    if (quota !== null && overQuota(quota)) return 'over-quota'
    await rememberSpelling(pool, page)
    return enqueueLive(pool, page, requestId, liveWaitMs, crawler)
  }
}

/** Counts the caller as waiting: call `JobWaiter.wait` next. Throws `queue_full` or `domain_not_found`. */
export async function enqueueLive(
  db: Queryable,
  page: PageId,
  requestId: string,
  liveWaitMs: number,
  crawler: string | null = null,
): Promise<JobId> {
  const values = [
    page.domain,
    page.path,
    LIVE_BOUND,
    requestId,
    countedWaitMs(liveWaitMs),
    crawler,
    page.variant,
  ]
  const { rows } = await ofDomain(db.query<{ job_id: JobId | null }>({ ...ENQUEUE_LIVE, values }))
  const job = rows[0]?.job_id ?? null
  if (job === null) throw new AppError('queue_full', { detail: 'no room for a live job' })
  return job
}

/** How long a crawler of a crashed edge counts: twice its wait, because a second crawler may have joined. */
export function countedWaitMs(liveWaitMs: number): number {
  return 2 * liveWaitMs
}

/** Throws `domain_not_found` if the domain has just been deleted. */
async function ofDomain<T>(statement: Promise<T>): Promise<T> {
  return statement.catch((cause) => {
    // foreign_key_violation
    if (errorCode(cause) === '23503') throw new AppError('domain_not_found', { cause })
    throw cause
  })
}
