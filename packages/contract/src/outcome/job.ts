/**
 * A *job* is the request to render one page. It is *open* while queued or running. A page has at most one open job,
 * which a second request *joins*. Jobs of a domain wait in order of their *turn*; accounts take turns, and domains of
 * an account. A *claim* gives a job to a node under a *lease*. Node and `attempts` are the *fence*: a result without
 * both is rejected. A live job is *abandoned* when all crawlers that waited for it have left.
 *
 * ```
 *            claim                    result stored
 *   queued ---------> running -----------------------------> done
 *     ^ |                | | |
 *     | |                | | +-- no page ------------------> failed
 *     | |                | +---- cancelled, or its domain
 *     | |                |       became inactive ----------> cancelled
 *     | +-- cancelled ---|---------------------------------> cancelled
 *     +------------------+
 *       superseded by a purge or change; first crash; given back at shutdown or for a
 *       waiting crawler; its node died
 * ```
 */

import type { DomainName, JobId, PagePath } from '../ids.ts'
import type { PageVariant } from '../page/page-id.ts'
import type { RenderOutcomeKind } from './outcome.ts'

/** Claimed in this order. `live`: a crawler waits. `refresh`: API, webhook, stale or abandoned page. `warm`: bulk. */
export type Priority = 'live' | 'refresh' | 'warm'

export const PRIORITIES = ['live', 'refresh', 'warm'] as const satisfies readonly Priority[]

export function priorityNumber(priority: Priority): number {
  return PRIORITIES.indexOf(priority)
}

export type JobState = 'queued' | 'running' | 'done' | 'failed' | 'cancelled'

export type JobOutcome =
  | RenderOutcomeKind
  /** Stored without a browser: the document was complete as it came. */
  | 'static'
  /** Far less text than the last good copy. */
  | 'shrunk'
  /** The origin forbids storing it, and the domain respects that. */
  | 'no-store'
  | 'soft-404'
  | 'probed'
  | 'tried'
  /** The site redirects in circles between spellings of the page. */
  | 'redirect-loop'
  | 'over-quota'
  | 'domain-gone'
  | 'domain-inactive'
  | 'cancelled'

const OUTCOMES: Record<JobOutcome, true> = {
  rendered: true,
  static: true,
  incomplete: true,
  redirect: true,
  'not-html': true,
  'origin-error': true,
  'site-error': true,
  'origin-unreachable': true,
  'timed-out': true,
  blank: true,
  challenge: true,
  'error-page': true,
  'too-large': true,
  crashed: true,
  aborted: true,
  shrunk: true,
  'no-store': true,
  'soft-404': true,
  probed: true,
  tried: true,
  'redirect-loop': true,
  'over-quota': true,
  'domain-gone': true,
  'domain-inactive': true,
  cancelled: true,
}

/** All outcomes, for filters. A new one does not compile without its entry. */
export const JOB_OUTCOMES = Object.keys(OUTCOMES) as JobOutcome[]

/** The outcomes of jobs that stored a page. */
export const STORED: readonly string[] = ['rendered', 'static'] satisfies JobOutcome[]

export type JobEnd = { state: 'done' | 'failed' | 'cancelled'; outcome: JobOutcome }

export const JOB_QUEUED_CHANNEL = 'job_queued'
export const JOB_DONE_CHANNEL = 'job_done'

/** A job as its account sees it. Times are ISO 8601 in UTC with milliseconds. */
export type JobView = {
  jobId: JobId
  domain: DomainName
  path: PagePath
  /** Is null if the job is for both variants. */
  variant: PageVariant | null
  priority: Priority
  state: JobState
  outcome: JobOutcome | null
  created_at: string
  finished_at: string | null
}
