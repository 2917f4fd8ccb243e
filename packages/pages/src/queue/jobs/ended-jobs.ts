import { type DailyTable, keepDays } from '@prepaint/postgres/day-partitions.ts'
import { deleteInSteps, removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import type pg from 'pg'

export const JOB_KEPT_DAYS = 7

const ENDED: DailyTable = { table: 'job_ended', at: 'finished_at' }

/**
 * Makes the partitions of the next days, and drops those whose jobs all ended a week ago. Moves jobs that nodes of 0.2.0 ended, once
 * none of them runs. Returns how many days and rows were removed.
 */
export async function removeOldJobs(pool: pg.Pool, nowMs: number, steps?: Steps): Promise<number> {
  const removed = await keepDays(pool, ENDED, { keptDays: JOB_KEPT_DAYS, nowMs }, steps)
  const old = await removeOld(pool, { table: 'job', at: 'finished_at', keptDays: JOB_KEPT_DAYS }, steps)
  await deleteInSteps(pool, MOVE_ENDED, [], steps)
  return removed + old
}

/** Those of a warm have counted for it. */
const MOVE_ENDED = `
  with ended as materialized (
    select id from job where finished_at is not null and not are_older_nodes_running()
     order by finished_at limit $1 for update skip locked
  ), gone as (
    delete from job using ended where job.id = ended.id returning job.*
  )
  insert into job_ended (id, domain_id, path, variant, is_both, priority, state, outcome, detail, created_at, finished_at, request_id)
  select id, domain_id, path, variant, is_both, priority, state, outcome, detail, created_at, finished_at, request_id from gone`
