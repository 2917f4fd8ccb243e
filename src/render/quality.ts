import { badnessOf, TEXT_LIMIT_CHARS } from './bad-page.ts'
import {
  BODILESS,
  isErrorOfTheMoment,
  isRedirectStatus,
  publicUrl,
  type SiteAddress,
} from './main-response.ts'
import type { RenderOutcome } from './outcome.ts'
import { pageHeaders } from './page-headers.ts'
import { pageText } from './page-text.ts'
import type { Snapshot } from './snapshot.ts'

/** Whether a snapshot is a page worth keeping, and with which status and headers. */
export function outcomeOfSnapshot(
  snapshot: Snapshot,
  main: { status: number; headers: [name: string, value: string][]; url: string; site: SiteAddress },
): RenderOutcome {
  if (snapshot.kind === 'too-large') return snapshot
  if (snapshot.kind === 'not-html') return { kind: 'not-html', contentType: '' }

  const asked = pageHeaders(snapshot.headers)
  const status = statusOf(snapshot.statusCode) ?? main.status
  const location = asked.find(([name]) => name === 'location')?.[1]
  if (isRedirectStatus(status) && location !== undefined) {
    const absolute = publicUrl(location, main.url, main.site)
    if (absolute !== null) return { kind: 'redirect', status, location: absolute }
  }
  const headers = [...main.headers, ...asked.filter(([name]) => name !== 'location')]
  // What the origin itself answered has been judged before: this is the page's own word.
  if (isErrorOfTheMoment(status)) return { kind: 'site-error', status, headers, html: snapshot.html }
  if (snapshot.blank) return { kind: 'blank' }
  // A page that says itself what it is, is believed.
  if (statusOf(snapshot.statusCode) === null) {
    const bad = badnessOf(snapshot.html, pageText(snapshot.html, TEXT_LIMIT_CHARS + 1), status)
    if (bad !== null) return bad
  }
  return {
    kind: 'rendered',
    // A redirect to nowhere is no answer: the page as the origin sent it is.
    status: status >= 300 && status < 400 ? main.status : status,
    headers,
    html: snapshot.html,
  }
}

function statusOf(text: string | null): number | null {
  const status = Number(text?.trim() || Number.NaN)
  const isStatus = Number.isInteger(status) && status >= 200 && status <= 599
  return isStatus && !BODILESS.has(status) ? status : null
}
