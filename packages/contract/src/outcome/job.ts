/**
 * A *job* is the request to render one page. It is *open* while queued or running. A page has at most one open job,
 * which a second request *joins*. Jobs of a domain wait in order of their *turn*; accounts take turns, and domains of
 * an account. A *claim* gives a job to a node under a *lease*. Node and `attempts` are the *fence*: a result without
 * both is rejected. A live job is *abandoned* when all crawlers that waited for it have left.
 *
 * ```
 *            claim                    result stored
 *   queued ---------> running -----------------------------> done
 *     ^ |                | | |
 *     | |                | | +-- no page ------------------> failed
 *     | |                | +---- cancelled, or its domain
 *     | |                |       became inactive ----------> cancelled
 *     | +-- cancelled ---|---------------------------------> cancelled
 *     +------------------+
 *       superseded by a purge; first crash; given back at shutdown or for a
 *       waiting crawler; its node died
 * ```
 */

import { removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { AccountId, DomainName, JobId, PagePath } from '../ids.ts'
import type { PageVariant } from '../page/page-id.ts'
import type { RenderOutcomeKind } from './outcome.ts'

/** Claimed in this order. `live`: a crawler waits. `refresh`: API, webhook, stale or abandoned page. `warm`: bulk. */
export type Priority = 'live' | 'refresh' | 'warm'

export const PRIORITIES: readonly Priority[] = ['live', 'refresh', 'warm']

export function priorityNumber(priority: Priority): number {
  return PRIORITIES.indexOf(priority)
}

export type JobState = 'queued' | 'running' | 'done' | 'failed' | 'cancelled'

export type JobOutcome =
  | RenderOutcomeKind
  /** Stored without a browser: the document was complete as it came. */
  | 'static'
  /** Far less text than the last good copy. */
  | 'shrunk'
  /** The origin forbids storing it, and the domain respects that. */
  | 'no-store'
  | 'soft-404'
  | 'probed'
  | 'tried'
  /** The site redirects in circles between spellings of the page. */
  | 'redirect-loop'
  | 'over-quota'
  | 'domain-gone'
  | 'domain-inactive'
  | 'cancelled'

/** Of jobs that stored a page. */
export const STORED: readonly string[] = ['rendered', 'static'] satisfies JobOutcome[]

export type JobEnd = { state: 'done' | 'failed' | 'cancelled'; outcome: JobOutcome }

export const JOB_QUEUED_CHANNEL = 'job_queued'
export const JOB_DONE_CHANNEL = 'job_done'

/** For its account. Times are ISO 8601 in UTC with milliseconds. */
export type JobView = {
  jobId: JobId
  domain: DomainName
  path: PagePath
  /** null: both. */
  variant: PageVariant | null
  priority: Priority
  state: JobState
  outcome: JobOutcome | null
  created_at: string
  finished_at: string | null
}

export type JobRow = {
  id: JobId
  custom_domain: DomainName
  path: PagePath
  variant: PageVariant
  is_both: boolean
  priority: number
  state: JobState
  outcome: JobOutcome | null
  created_at: Date
  finished_at: Date | null
}

export const JOB_COLUMNS =
  'j.id, d.custom_domain, j.path, j.variant, j.is_both, j.priority, j.state, j.outcome, j.created_at, j.finished_at'

export function jobView(row: JobRow): JobView {
  return {
    jobId: row.id,
    domain: row.custom_domain,
    path: row.path,
    variant: row.is_both ? null : row.variant,
    priority: PRIORITIES[row.priority] ?? 'warm',
    state: row.state,
    outcome: row.outcome,
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  }
}

const JOB_KEPT_DAYS = 7

/** Returns how many. */
export function removeOldJobs(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOld(pool, { table: 'job', at: 'finished_at', keptDays: JOB_KEPT_DAYS }, steps)
}

/** With the job that follows it, if that is open. null: unknown, of another account, or ended more than a week ago. */
export async function findJob(db: Queryable, account: AccountId, jobId: JobId): Promise<JobView | null> {
  const { rows } = await db.query<JobRow & { following: JobState | null }>(
    `select ${JOB_COLUMNS}, next.state as following
       from job j join domain d on d.id = j.domain_id
       left join job next on next.domain_id = j.domain_id and next.path = j.path and next.variant = 'mobile'
                         and next.state in ('queued', 'running') and next.follows = j.id
      where d.account_id = $1 and j.id = $2
        and (j.finished_at is null or j.finished_at > now() - make_interval(days => $3))`,
    [account, jobId, JOB_KEPT_DAYS],
  )
  const row = rows[0]
  if (row === undefined) return null
  const state = row.following
  return jobView(state === null ? row : { ...row, state, outcome: null, finished_at: null })
}
