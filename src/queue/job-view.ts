import type { DomainName, JobId, PagePath } from '../ids.ts'
import { type JobOutcome, type JobState, PRIORITIES, type Priority } from './job.ts'

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

/** What its statement reads of a job, `j`, and its domain, `d`. */
export type JobRow = {
  id: JobId
  custom_domain: DomainName
  path: PagePath
  priority: number
  state: JobState
  outcome: JobOutcome | null
  created_at: Date
  finished_at: Date | null
}

export const JOB_COLUMNS =
  'j.id, d.custom_domain, j.path, j.priority, j.state, j.outcome, j.created_at, j.finished_at'

export function jobView(row: JobRow): JobView {
  return {
    jobId: row.id,
    domain: row.custom_domain,
    path: row.path,
    priority: PRIORITIES[row.priority] ?? 'warm',
    state: row.state,
    outcome: row.outcome,
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  }
}
