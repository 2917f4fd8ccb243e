import type { Queryable } from '../db/transaction.ts'
import type { DomainId } from '../ids.ts'
import type { JobState } from './job.ts'
import { JOB_COLUMNS, type JobRow, type JobView, jobView } from './job-view.ts'

export type JobsWanted = {
  /** null: of all domains. */
  domain: DomainId | null
  /** null: in every state. */
  state: JobState | null
  limit: number
}

/** Jobs of every account, the newest first. For the operator only. */
export async function listJobs(db: Queryable, wanted: JobsWanted): Promise<JobView[]> {
  const { rows } = await db.query<JobRow>(
    `select ${JOB_COLUMNS}
       from job j join domain d on d.id = j.domain_id
      where ($1::integer is null or j.domain_id = $1) and ($2::text is null or j.state = $2)
      order by j.created_at desc, j.id limit $3`,
    [wanted.domain, wanted.state, wanted.limit],
  )
  return rows.map(jobView)
}

/** How many jobs there are in each state; those that ended, of the last week. For the operator only. */
export async function countJobs(db: Queryable, domain: DomainId | null): Promise<Record<JobState, number>> {
  const { rows } = await db.query<{ state: JobState; count: number }>(
    `select state, count(*)::int as count from job
      where $1::integer is null or domain_id = $1 group by state`,
    [domain],
  )
  const counts = { queued: 0, running: 0, done: 0, failed: 0, cancelled: 0 }
  for (const { state, count } of rows) counts[state] = count
  return counts
}
