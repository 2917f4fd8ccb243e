import { unreachable } from '@prepaint/contract/errors.ts'
import type { PagePath } from '@prepaint/contract/ids.ts'
import type { GivenPage, RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import type { ChosenRule } from '@prepaint/runtime/rule-book.ts'
import type { NewPage } from '../../store/keep-page.ts'
import type { UnstoredPage } from '../../store/stored-page.ts'
import { hasOwnMarkdown, pageBody } from '../../store/stored-page.ts'
import { packReading } from '../../store/stored-reading.ts'
import type { Tried } from '../tries/try-rules.ts'
import { probeDetail } from './prober.ts'
import type { Finding, Look } from './soft-404.ts'

export type Found =
  | RenderOutcome
  | { kind: 'over-quota' }
  | { kind: 'domain-inactive' }
  /** The site redirects between spellings of this page and never serves it. */
  | { kind: 'redirect-loop'; location: string }
  /** The job was a probe. `finding` is null if it failed, for the reason `why`. */
  | { kind: 'probed'; finding: Finding | null; why?: string }
  /** The job tried rules. */
  | ({ kind: 'tried' } & Tried)

/** Decided before checking that the job is still this node's. */
export type Effect =
  /** `look` is null if nothing is compared with the site's page for missing pages. */
  | (NewPage & { do: 'store-page'; look: Look | null; missing: string | null })
  /** `page` is null if there is nothing to give, or for a redirect, which the crawler gets from the origin. */
  | {
      do: 'give-once'
      outcome: 'site-error' | 'no-store' | 'incomplete'
      page: UnstoredPage | null
      detail: string
    }
  | ({ do: 'store-try' } & Tried)
  | { do: 'store-probe'; finding: Finding | null; detail: string }
  | { do: 'store-redirect'; status: number; location: string }
  | { do: 'end'; state: 'failed' | 'cancelled'; detail: string }
  | { do: 'requeue'; fault: boolean }

export const MAX_FAULTS = 2
const DETAIL_LIMIT_CHARS = 500

/** What is asked about a job to know what becomes of its outcome. */
type JudgedJob = { page: PageId; faults: number; respectsNoStore: boolean; rule: ChosenRule | null }

/** Faults are retried, outcomes are final. */
export async function effectOf(job: JudgedJob, found: Found): Promise<Effect> {
  switch (found.kind) {
    case 'rendered': {
      // What the origin says counts, not what a rule adds.
      const isForbidden = job.respectsNoStore && forbidsStoring(found.headers)
      const given = { ...found, ...found.changed }
      if (isForbidden || job.rule?.rule.action === 'no-store') {
        return { do: 'give-once', outcome: 'no-store', page: await givenOnce(given), detail: '' }
      }
      const { status, application = null, missing = null } = found
      const headers = storableHeaders(given.headers)
      const body = pageBody(given.html, { ownMarkdown: hasOwnMarkdown(given.reading, headers) })
      // Later renders are compared with the page as it was, not as the rule wants it.
      const { textChars } = found.reading
      const look = lookOf(job.page.path, found)
      const rule = { effect: job.rule?.effect ?? '', changes: found.changed?.changes ?? null }
      const outcome = found.isStatic ? 'static' : 'rendered'
      const readingBr = await packReading(given.reading)
      return {
        do: 'store-page',
        status,
        headers,
        body: await body,
        readingBr,
        textChars,
        application,
        outcome,
        look,
        missing,
        rule,
      }
    }
    case 'site-error':
      return { do: 'give-once', outcome: found.kind, page: await givenOnce(found), detail: detailOf(found) }
    case 'incomplete': {
      const page = found.page && (await givenOnce(found.page))
      return { do: 'give-once', outcome: found.kind, page, detail: detailOf(found) }
    }
    case 'redirect': {
      const { cacheControl = '' } = found
      if (job.respectsNoStore && forbidsStoring([['cache-control', cacheControl]])) {
        return { do: 'give-once', outcome: 'no-store', page: null, detail: detailOf(found) }
      }
      return { do: 'store-redirect', status: found.status, location: storable(found.location) }
    }
    case 'not-html':
    case 'origin-error':
    case 'origin-unreachable':
    case 'timed-out':
    case 'too-large':
    case 'blank':
    case 'challenge':
    case 'error-page':
    case 'redirect-loop':
    case 'over-quota':
      return failed(found)
    case 'crashed':
      return job.faults + 1 < MAX_FAULTS ? { do: 'requeue', fault: true } : failed(found)
    case 'aborted':
      return { do: 'requeue', fault: false }
    case 'probed':
      return { do: 'store-probe', finding: found.finding, detail: detailOf(found) }
    case 'tried':
      return { ...found, do: 'store-try' }
    case 'domain-inactive':
      return { do: 'end', state: 'cancelled', detail: '' }
    default:
      return unreachable(found)
  }
}

async function givenOnce(page: GivenPage): Promise<UnstoredPage> {
  const headers = storableHeaders(page.headers)
  const body = await pageBody(page.html, { ownMarkdown: hasOwnMarkdown(page.reading, headers) })
  return { status: page.status, headers, body }
}

/** Returns null if the outcome is not compared with the site's page for missing pages. */
export function lookOf(path: PagePath, found: Found): Look | null {
  if (found.kind !== 'rendered' || found.status !== 200 || path === '/') return null
  return { path, words: found.reading.words, application: found.application ?? null }
}

export function detailOf(found: Found): string {
  switch (found.kind) {
    case 'not-html':
      return bounded(found.contentType)
    case 'origin-error':
    case 'site-error':
      return `status ${found.status}`
    case 'origin-unreachable':
    case 'crashed':
    case 'incomplete':
      return bounded(found.reason)
    case 'rendered':
      return bounded(found.missing ?? '')
    case 'timed-out':
      if (found.afterMs === 0) return 'it loads itself again and again'
      return `after ${found.afterMs} ms${found.reason === undefined ? '' : `: ${found.reason}`}`
    case 'blank':
      return 'no text, image or field'
    case 'too-large':
      return found.what
    case 'challenge':
    case 'error-page':
      return found.mark
    case 'probed':
      return probeDetail(found.finding, found.why)
    case 'redirect':
    case 'redirect-loop':
      return bounded(found.location)
    default:
      return ''
  }
}

function failed(found: Found): Effect {
  return { do: 'end', state: 'failed', detail: detailOf(found) }
}

function bounded(text: string): string {
  return storable(text).slice(0, DETAIL_LIMIT_CHARS)
}

function storableHeaders(headers: readonly (readonly [name: string, value: string])[]): [string, string][] {
  return headers.map(([name, value]) => [name, storable(value)])
}

/** PostgreSQL's text cannot contain NUL. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}

/** RFC 9111, section 3: `no-store`, or `private` without fields. */
export function forbidsStoring(headers: readonly (readonly [name: string, value: string])[]): boolean {
  return headers.some(
    ([name, value]) =>
      name.toLowerCase() === 'cache-control' && directives(value).some((one) => FORBIDS.has(one)),
  )
}

const FORBIDS = new Set(['no-store', 'private'])

/** Returns the directives in lower case, with arguments: `private="set-cookie"` is about that field alone. */
function directives(value: string): string[] {
  // An unclosed quote goes to the end, which keeps the time linear.
  return (value.match(/(?:"(?:\\.|[^"\\])*"?|[^,"])+/g) ?? []).map((one) => one.trim().toLowerCase())
}
