import type { Queryable } from '../db/transaction.ts'
import type { AccountId, DomainName, JobId, PagePath } from '../ids.ts'
import { type JobOutcome, type JobState, PRIORITIES, type Priority } from './job.ts'
import { JOB_KEPT_DAYS } from './remove-old-jobs.ts'

/** A job as its account sees it. Times are ISO 8601 in UTC with milliseconds. */
export type JobView = {
  jobId: JobId
  domain: DomainName
  path: PagePath
  priority: Priority
  state: JobState
  /** Null while it has not ended. */
  outcome: JobOutcome | null
  created_at: string
  finished_at: string | null
}

type Row = {
  custom_domain: DomainName
  path: PagePath
  priority: number
  state: JobState
  outcome: JobOutcome | null
  created_at: Date
  finished_at: Date | null
}

/** A job of one of the account's domains, until a week after its end; null for any other. */
export async function findJob(db: Queryable, account: AccountId, jobId: JobId): Promise<JobView | null> {
  const { rows } = await db.query<Row>(
    `select d.custom_domain, j.path, j.priority, j.state, j.outcome, j.created_at, j.finished_at
       from job j join domain d on d.id = j.domain_id
      where d.account_id = $1 and j.id = $2
        and (j.finished_at is null or j.finished_at > now() - make_interval(days => $3))`,
    [account, jobId, JOB_KEPT_DAYS],
  )
  const row = rows[0]
  if (row === undefined) return null
  return {
    jobId,
    domain: row.custom_domain,
    path: row.path,
    priority: PRIORITIES[row.priority] ?? 'warm',
    state: row.state,
    outcome: row.outcome,
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  }
}
