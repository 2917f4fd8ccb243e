import { unreachable } from '../../errors.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { pageText } from '../../render/visit/page-text.ts'
import { type NewPage, pageBody } from '../../store/keep-page.ts'
import type { UnstoredPage } from '../../store/stored-page.ts'
import type { ClaimedJob } from '../jobs/claim.ts'
import { probeDetail } from './prober.ts'
import type { Finding, Look } from './soft-404.ts'

/** What a worker found: what came of the render, or why there was none. */
export type Found =
  | RenderOutcome
  | { kind: 'over-quota' }
  | { kind: 'domain-inactive' }
  /** The site leads from one spelling of this page to the other, and never to it. */
  | { kind: 'redirect-loop'; location: string }
  /** The job was a probe. `finding` null: nothing could be found out, and `why`. */
  | { kind: 'probed'; finding: Finding | null; why?: string }

/** What is to be done about it, before it is known whether the job is still ours. */
export type Effect =
  /** `look`: what is compared with how the site looks where it has no page; null: nothing. */
  | (NewPage & { do: 'store-page'; look: Look | null })
  /** For the crawler that waits, if one does; a redirect (null) it gets from the origin. */
  | { do: 'give-once'; outcome: 'site-error' | 'no-store'; page: UnstoredPage | null; detail: string }
  | { do: 'store-probe'; finding: Finding | null; detail: string }
  | { do: 'store-redirect'; status: number; location: string }
  | { do: 'end'; state: 'failed' | 'cancelled'; detail: string }
  | { do: 'requeue'; fault: boolean }

/** A job that crashed or lost its node this often ends. */
export const MAX_FAULTS = 2
const DETAIL_LIMIT_CHARS = 500

/** The table of outcomes. Faults are retried, outcomes are final. */
export async function effectOf(
  job: Pick<ClaimedJob, 'faults' | 'page' | 'respectsNoStore'>,
  found: Found,
): Promise<Effect> {
  switch (found.kind) {
    case 'rendered': {
      const headers = storableHeaders(found.headers)
      if (job.respectsNoStore && forbidsStoring(headers)) {
        const page = { status: found.status, headers, body: await pageBody(found.html) }
        return { do: 'give-once', outcome: 'no-store', page, detail: '' }
      }
      const { status, html, application = null } = found
      // On its own thread, while this one reads the text.
      const body = pageBody(html)
      const textChars = pageText(html).length
      const look = lookOf(job, found)
      return { do: 'store-page', body: await body, status, headers, textChars, application, look }
    }
    case 'site-error': {
      const { status } = found
      const page = { status, headers: storableHeaders(found.headers), body: await pageBody(found.html) }
      return { do: 'give-once', outcome: 'site-error', page, detail: detailOf(found) }
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
    case 'domain-inactive':
      return { do: 'end', state: 'cancelled', detail: '' }
    default:
      return unreachable(found)
  }
}

/** What of a render is compared with how its site looks where it has no page; null: nothing. */
export function lookOf({ page: { path } }: Pick<ClaimedJob, 'page'>, found: Found): Look | null {
  if (found.kind !== 'rendered' || found.status !== 200 || path === '/') return null
  return { path, html: found.html, application: found.application ?? null }
}

/** What the owner reads about it beside the outcome's name; empty where that says all. */
export function detailOf(found: Found): string {
  switch (found.kind) {
    case 'not-html':
      return bounded(found.contentType)
    case 'origin-error':
    case 'site-error':
      return `status ${found.status}`
    case 'origin-unreachable':
    case 'crashed':
      return bounded(found.reason)
    case 'timed-out':
      return found.afterMs === 0 ? 'it loads itself again and again' : `after ${found.afterMs} ms`
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

/** PostgreSQL's text has no NUL, and what a site sends may have one. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}

/**
 * Whether an origin's answer may not be kept by a cache that serves all clients
 * (RFC 9111, section 3): `no-store`, or `private` for the whole of it. What
 * else `Cache-Control` says is about how long, which the domain's own settings say.
 */
export function forbidsStoring(headers: readonly (readonly [name: string, value: string])[]): boolean {
  return headers.some(
    ([name, value]) =>
      name.toLowerCase() === 'cache-control' && directives(value).some((one) => FORBIDS.has(one)),
  )
}

const FORBIDS = new Set(['no-store', 'private'])

/** Lower case, with their arguments: `private="set-cookie"` is about that field alone. */
function directives(value: string): string[] {
  // A comma in quotes divides nothing; quotes without an end go to the end, so that the time is linear.
  return (value.match(/(?:"(?:\\.|[^"\\])*"?|[^,"])+/g) ?? []).map((one) => one.trim().toLowerCase())
}
