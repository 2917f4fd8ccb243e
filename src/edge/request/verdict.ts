import type { JobOutcome } from '../../queue/jobs/job.ts'
import type { CrawlerCategory } from '../../sites/domain-settings.ts'
import type { PageId } from '../../store/page-id.ts'
import type { EdgeDomain } from './domain.ts'

/** Why a request passed to the origin: by rule, because there is no page, or how its render ended. */
export type PassReason =
  | 'not-a-crawler'
  | 'method'
  | 'category'
  | 'authorization'
  | 'asset'
  | 'excluded'
  | 'rule'
  | 'path'
  | 'inactive'
  | 'loop'
  | 'sitemap'
  | 'forged'
  | 'queue-full'
  | 'busy'
  | 'late'
  | 'database'
  | 'unservable'
  | 'failed'
  | JobOutcome

/**
 * How a live request was answered. Sent as `X-Prepaint`, logged, counted, and
 * asserted by the tests.
 */
export type Verdict = 'hit' | 'stale' | 'rendered' | `pass; ${PassReason}`

/** Answered without a site: the host is unknown or cannot be looked up, the request is refused, or redirected to https. */
export type NoVerdict =
  | 'none; unknown-host'
  | 'none; bad-request'
  | 'none; https'
  | 'none; fault'
  | 'none; too-many-requests'
  | 'none; too-many-connections'

/** What happened to a request. */
export type Handled = {
  verdict: Verdict | NoVerdict
  /** null: it was answered without a site. */
  domain: EdgeDomain | null
  /** The stored or rendered page that was the answer; null: none was. */
  page: PageId | null
  /** null: a person, a tool, or not known. */
  crawler: CrawlerCategory | null
}

/** Answered without a site. */
export function handledAs(verdict: NoVerdict): Handled {
  return { verdict, domain: null, page: null, crawler: null }
}

const OUTCOMES: Readonly<Record<JobOutcome, true>> = {
  rendered: true,
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
  'redirect-loop': true,
  'over-quota': true,
  'domain-gone': true,
  'domain-inactive': true,
  cancelled: true,
}

/** The outcome as a reason. A node of another version may have stored an outcome that this one does not know. */
export function reasonOf(outcome: JobOutcome): PassReason {
  return Object.hasOwn(OUTCOMES, outcome) ? outcome : 'failed'
}

const passVerdicts = new Map<PassReason, Verdict>()

/** The same string for a reason each time: a joined one would be joined and hashed again for each look-up of it. */
export function passVerdict(why: PassReason): Verdict {
  const known = passVerdicts.get(why)
  if (known !== undefined) return known
  const verdict: Verdict = `pass; ${why}`
  passVerdicts.set(why, verdict)
  return verdict
}
