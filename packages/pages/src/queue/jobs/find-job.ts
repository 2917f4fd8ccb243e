import type { DomainName, JobId, PagePath, Scope } from '@prepaint/contract/ids.ts'
import { type JobOutcome, type JobState, type JobView, PRIORITIES } from '@prepaint/contract/outcome/job.ts'
import type { PageVariant } from '@prepaint/contract/page/page-id.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { JOB_KEPT_DAYS } from './ended-jobs.ts'

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

/**
 * Finds a job, with the state of the job that follows it if that is open. Returns null if there is no such job, if it belongs to
 * another account or not within the scope, or if it ended more than a week ago.
 */
export async function findJob(
  db: Queryable,
  { account, domains }: Scope,
  jobId: JobId,
): Promise<JobView | null> {
  const { rows } = await db.query<JobRow & { following: JobState | null }>(
    `select ${JOB_COLUMNS}, next.state as following
       from every_job j join domain d on d.id = j.domain_id
       left join job next on next.domain_id = j.domain_id and next.path = j.path and next.variant = 'mobile'
                         and next.state in ('queued', 'running') and next.follows = j.id
      where d.account_id = $1 and j.id = $2 and ($4::integer[] is null or d.id = any ($4))
        and (j.finished_at is null or j.finished_at > now() - make_interval(days => $3))`,
    [account, jobId, JOB_KEPT_DAYS, domains],
  )
  const row = rows[0]
  if (row === undefined) return null
  const state = row.following
  return jobView(state === null ? row : { ...row, state, outcome: null, finished_at: null })
}
