/**
 * Words of this room.
 *
 * A *job* is the request for a render of one page. It is *open* while queued or
 * running; a page has at most one open job. To *join* is to ask for a page that
 * has one. *Turn* is virtual time inside one priority: the number by which
 * domains take turns. A *claim* gives a job to a node under a *lease*; node and
 * `attempts` together are the *fence*: whoever cannot show both lost the job.
 *
 * ```
 *            claim                    result stored
 *   queued ---------> running -----------------------------> done
 *     ^ |                | | |
 *     | |                | | +-- no page came of it -------> failed
 *     | |                | +---- cancelled, or its domain
 *     | |                |       became inactive ----------> cancelled
 *     | +-- cancelled ---|---------------------------------> cancelled
 *     +------------------+
 *       superseded by a purge; crashed for the first time;
 *       given back by a node that ends; its node died
 * ```
 * The deletion of a domain deletes its jobs, in whatever state.
 */

import type { Queryable } from '../../db/transaction.ts'
import type { AccountId, DomainName, JobId, PagePath } from '../../ids.ts'
import type { RenderOutcomeKind } from '../../render/outcome.ts'
import { JOB_KEPT_DAYS } from '../upkeep/remove-old-jobs.ts'

/** `live`: a crawler waits. `refresh`: API, webhook, stale page. `warm`: bulk. Strictly in this order. */
export type Priority = 'live' | 'refresh' | 'warm'

export const PRIORITIES: readonly Priority[] = ['live', 'refresh', 'warm']

/** As the column `priority` has it. */
export function priorityNumber(priority: Priority): number {
  return PRIORITIES.indexOf(priority)
}

export type JobState = 'queued' | 'running' | 'done' | 'failed' | 'cancelled'

/** Why a job ended as it did, as the owner reads it. */
export type JobOutcome =
  | RenderOutcomeKind
  /** Far less than the last good copy. */
  | 'shrunk'
  /** The origin forbids to store it, and the domain respects that. */
  | 'no-store'
  /** It reads like a page that does not exist. */
  | 'soft-404'
  /** A look at how the site answers where there is no page. */
  | 'probed'
  /** The site leads from one spelling of the page to another for ever. */
  | 'redirect-loop'
  | 'over-quota'
  | 'domain-gone'
  | 'domain-inactive'
  | 'cancelled'

/** What came of a job, for whoever waits for it. */
export type JobEnd = { state: 'done' | 'failed' | 'cancelled'; outcome: JobOutcome }

/** Payload: the number of the priority. */
export const JOB_QUEUED_CHANNEL = 'job_queued'
/** Payload: the job's id. */
export const JOB_DONE_CHANNEL = 'job_done'

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
