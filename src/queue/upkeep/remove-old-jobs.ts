import type pg from 'pg'

import { removeOld, type Steps } from '../../db/remove-old.ts'

/** How long a job can be looked up after its end. */
export const JOB_KEPT_DAYS = 7

/** Removes jobs that ended more than a week ago. Gives how many. */
export function removeOldJobs(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOld(pool, { table: 'job', at: 'finished_at', keptDays: JOB_KEPT_DAYS }, steps)
}
