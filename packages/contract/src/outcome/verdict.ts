import type { PageId } from '../page/page-id.ts'
import type { CrawlerCategory } from '../settings/domain-settings.ts'
import type { FilesOf } from '../site-files/robots-text.ts'
import type { Site } from '../site-files/site.ts'
import type { Form } from './form.ts'
import { JOB_OUTCOMES, type JobOutcome } from './job.ts'

/** Why a request was passed: by rule, without a page, or after a failed render. */
export type PassReason =
  | 'not-a-crawler'
  | 'method'
  | 'category'
  | 'authorization'
  | 'cookie'
  | 'own-markdown'
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
  | 'store'
  | 'unservable'
  | 'failed'
  | JobOutcome

/** The result of a request, as in `X-Prepaint`, logs and metrics. */
export type Verdict =
  | ('hit' | 'stale' | 'rendered')
  | ('rule' | 'redirect' | 'site-file')
  | `${'blocked' | 'payment'}; ${CrawlerCategory}`
  | `pass; ${PassReason}`

/** The verdicts without a site: unknown host, lookup failed or impossible, refused, redirected to https, or left unanswered. */
export type NoVerdict =
  | 'none; unknown-host'
  | 'none; bad-request'
  | 'none; https'
  | 'none; check'
  | 'none; fault'
  | 'none; database'
  | 'none; too-many-requests'
  | 'none; too-many-connections'
  | 'none; left'

/** What is told of the domain of a request. */
export type HandledDomain = Site & FilesOf & { account: number; isActive: boolean }

/** `tool`: an HTTP library, a monitor or a browser that a program drives. `name` is a word of the user agent. */
export type AutomaticClient = { kind: 'tool' | 'unknown'; name: string }

export type Handled = {
  verdict: Verdict | NoVerdict
  domain: HandledDomain | null
  page: PageId | null
  /** Is null for a person or a tool. */
  crawler: CrawlerCategory | null
  /** Is absent if no page of ours was served. */
  form?: Form
  /** Is absent if the client is a crawler, or looks like a person. */
  automatic?: AutomaticClient
}

export function handledAs(verdict: NoVerdict): Handled {
  return { verdict, domain: null, page: null, crawler: null }
}

const OUTCOMES: ReadonlySet<string> = new Set(JOB_OUTCOMES)

/** Another version's node may have stored an unknown outcome. */
export function reasonOf(outcome: JobOutcome): PassReason {
  return OUTCOMES.has(outcome) ? outcome : 'failed'
}

const passVerdicts = new Map<PassReason, Verdict>()

/** Returns a constant string: a concatenated one would be hashed again for each map lookup. */
export function passVerdict(why: PassReason): Verdict {
  const known = passVerdicts.get(why)
  if (known !== undefined) return known
  const verdict: Verdict = `pass; ${why}`
  passVerdicts.set(why, verdict)
  return verdict
}
