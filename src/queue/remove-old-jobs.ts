import type pg from 'pg'

import { deleteInSteps } from '../db/delete-in-steps.ts'

/** How long a job can be looked up after its end. */
export const JOB_KEPT_DAYS = 7

/** Removes jobs that ended more than a week ago. Gives how many. */
export function removeOldJobs(
  pool: pg.Pool,
  options: { step?: number; signal?: AbortSignal } = {},
): Promise<number> {
  return deleteInSteps(
    pool,
    `with old as materialized (
       select id from job where finished_at < now() - make_interval(days => $2)
        order by finished_at limit $1 for update skip locked)
     delete from job using old where job.id = old.id`,
    [JOB_KEPT_DAYS],
    options,
  )
}
