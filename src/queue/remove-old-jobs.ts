import type pg from 'pg'

/** How long a job can be looked up after its end. */
export const JOB_KEPT_DAYS = 7

const STEP = 2_000

/**
 * Removes jobs that ended more than a week ago, in steps of some milliseconds
 * each, so that nobody waits for it. Gives how many. Any number of nodes may do
 * it at once: they take different ones.
 */
export async function removeOldJobs(pool: pg.Pool, step: number = STEP): Promise<number> {
  for (let removed = 0; ; ) {
    const { rowCount } = await pool.query(
      `delete from job where id in (
         select id from job where finished_at < now() - make_interval(days => $1)
          order by finished_at limit $2 for update skip locked)`,
      [JOB_KEPT_DAYS, step],
    )
    removed += rowCount ?? 0
    if ((rowCount ?? 0) < step) return removed
  }
}
