import type { Queryable } from '../db/transaction.ts'
import type { AccountId, JobId } from '../ids.ts'
import { JOB_COLUMNS, type JobRow, type JobView, jobView } from './job-view.ts'
import { JOB_KEPT_DAYS } from './remove-old-jobs.ts'

/** A job of one of the account's domains, until a week after its end; null for any other. */
export async function findJob(db: Queryable, account: AccountId, jobId: JobId): Promise<JobView | null> {
  const { rows } = await db.query<JobRow>(
    `select ${JOB_COLUMNS}
       from job j join domain d on d.id = j.domain_id
      where d.account_id = $1 and j.id = $2
        and (j.finished_at is null or j.finished_at > now() - make_interval(days => $3))`,
    [account, jobId, JOB_KEPT_DAYS],
  )
  const row = rows[0]
  return row === undefined ? null : jobView(row)
}
