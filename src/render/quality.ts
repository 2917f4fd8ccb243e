import { badnessOf, TEXT_LIMIT_CHARS } from './bad-page.ts'
import { isErrorOfTheMoment, isRedirectStatus, publicUrl, type SiteAddress } from './main-response.ts'
import type { RenderOutcome } from './outcome.ts'
import { pageText } from './page-text.ts'
import type { Snapshot } from './snapshot.ts'

/** A page may set these for itself; anything else could change what the edge or a cache makes of the answer. */
const PAGE_HEADERS = new Set([
  'content-language',
  'expires',
  'last-modified',
  'link',
  'location',
  'retry-after',
  'x-robots-tag',
])

const HEADER_VALUE_LIMIT_CHARS = 2_048

/** Whether a snapshot is a page worth keeping, and with which status and headers. */
export function outcomeOfSnapshot(
  snapshot: Snapshot,
  main: { status: number; headers: [name: string, value: string][]; url: string; site: SiteAddress },
): RenderOutcome {
  if (snapshot.kind === 'too-large') return snapshot
  if (snapshot.kind === 'not-html') return { kind: 'not-html', contentType: '' }

  const asked = snapshot.headers.flatMap(parseHeader)
  const status = statusOf(snapshot.statusCode) ?? main.status
  const location = asked.find(([name]) => name === 'location')?.[1]
  if (isRedirectStatus(status) && location !== undefined) {
    const absolute = publicUrl(location, main.url, main.site)
    if (absolute !== null) return { kind: 'redirect', status, location: absolute }
  }
  if (isErrorOfTheMoment(status)) return { kind: 'origin-error', status }
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
    headers: [...main.headers, ...asked.filter(([name]) => name !== 'location')],
    html: snapshot.html,
  }
}

function statusOf(text: string | null): number | null {
  const status = Number(text?.trim() || Number.NaN)
  return Number.isInteger(status) && status >= 200 && status <= 599 ? status : null
}

/** `Name: value`. What is malformed or not a page's to set is dropped. */
function parseHeader(text: string): [name: string, value: string][] {
  const at = text.indexOf(':')
  if (at === -1) return []
  const name = text.slice(0, at).trim().toLowerCase()
  const value = text.slice(at + 1).trim()
  const isSafe = /^[\x20-\x7e]*$/.test(value) && value.length <= HEADER_VALUE_LIMIT_CHARS
  return PAGE_HEADERS.has(name) && isSafe ? [[name, value]] : []
}
