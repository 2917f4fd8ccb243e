import type { IncomingHttpHeaders } from 'node:http'
import type { Form } from '@prepaint/contract/outcome/form.ts'
import { freshUntil, type Lifetimes } from '@prepaint/contract/page/freshness.ts'
import { type Encoding, EncodingChooser } from '@prepaint/runtime/http/accept-encoding.ts'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { EdgeRequest, EdgeResponse, RequestHead } from '../server/exchange.ts'
import {
  CACHE_CONTROL,
  type Encodings,
  type Representation,
  type SameHeaders,
  type Served,
  type ServedPage,
  type ServedRedirect,
} from './prepared-page.ts'
import { type Usage, usageHeaders } from './usage-headers.ts'

/** `rule` is a page with a status that the owner's rule sets. */
export type ServedVerdict = 'hit' | 'stale' | 'rendered' | 'rule'

const encodingChooser = new EncodingChooser()

type Stamp = { verdict: ServedVerdict; ageMs: number; ttlMs: number }

export function stampOf(entry: Served, lifetimes: Lifetimes, nowMs: number, verdict: ServedVerdict): Stamp {
  const ageMs = verdict === 'rendered' ? 0 : nowMs - entry.renderedAtMs
  return { verdict, ageMs, ttlMs: freshUntil(entry, lifetimes) - nowMs }
}

/** A form of a page, at its public URL. */
export type Given = { page: ServedPage; form: Form; path: string }

/**
 * Returns the form that the page has: HTML where it has no other, `own-markdown` where the site has Markdown. Returns
 * undefined if that is not known yet.
 */
export function formIn(page: ServedPage, asked: Form): Form | 'own-markdown' | undefined {
  if (asked === 'markdown' && page.ownMarkdown) return 'own-markdown'
  const encodings = page.forms[asked]
  if (encodings === undefined) return undefined
  return encodings === null ? 'html' : asked
}

function encodingsOf({ page, form }: Given): Encodings {
  return page.forms[form] ?? page.forms.html
}

export function readyFor(req: RequestHead, given: Given): Representation | undefined {
  return encodingsOf(given).ready[encodingFor(req)]
}

function encodingFor({ headers }: RequestHead): Encoding {
  const { 'accept-encoding': accepted } = headers
  // Node joins repeated headers, although its type allows an array.
  return encodingChooser.choose(typeof accepted === 'string' ? accepted : undefined)
}

/** Sends a page, at once if the encoding is ready. Ranges are optional (RFC 9110, section 14.2) and not served. */
export function servePage(
  req: EdgeRequest,
  res: EdgeResponse,
  given: Given,
  stamp: Stamp,
  domain: AnswerSettings,
): void | Promise<void> {
  const encoding = encodingFor(req)
  const encodings = encodingsOf(given)
  const write = (made: Representation) => sendPageAnswer(res, pageAnswer(req, given, made, stamp, domain))
  const ready = encodings.ready[encoding]
  if (ready !== undefined) return write(ready)
  return encodings.make(encoding).then(write)
}

export function sendPageAnswer(res: EdgeResponse, { status, same, own, body }: PageAnswer): void {
  // A new list: this response's headers must not stay in the page's list.
  res.writeHead(status, [...same.headers, ...own])
  if (body === null) res.end()
  else res.end(body)
}

export type PageAnswer = { status: number; same: SameHeaders; own: string[]; body: Buffer | null }

/** A `usage` of null leaves the headers of the origin as they are. */
export type AnswerSettings = Pick<EdgeDomain, 'name' | 'markdown'> & { usage: Usage | null }

export function pageAnswer(
  req: RequestHead,
  { page, form, path }: Given,
  { whole, notModified, etag, body }: Representation,
  stamp: Stamp,
  domain: AnswerSettings,
): PageAnswer {
  // Conditions apply only to a 200 (RFC 9110, section 13.2.1). Forms are told apart by their ETags alone.
  const since = form === 'html' ? page.lastModifiedMs : null
  const isKnown = page.status === 200 && isNotModified(req.headers, etag, since)
  const own = ['Vary', varyOf(domain), 'Age', age(stamp), 'Cache-Status', cacheStatus(stamp, page.isStored)]
  if (domain.usage !== null || page.usage !== null) own.push(...usageHeaders(domain.usage, page.usage))
  own.push('X-Prepaint', stamp.verdict, 'X-Request-Id', requestIdOf(req))
  if (isKnown) return { status: 304, same: notModified, own, body: null }
  if (domain.markdown && form === 'html' && page.status === 200 && !page.ownMarkdown) {
    own.push('Link', `<https://${domain.name}${path}>; rel="alternate"; type="text/markdown"`)
  }
  return { status: page.status, same: whole, own, body: req.method === 'HEAD' ? null : body }
}

export function varyOf({ markdown }: Pick<AnswerSettings, 'markdown'>): string {
  return markdown ? 'Accept, Accept-Encoding, User-Agent' : 'Accept-Encoding, User-Agent'
}

export function serveRedirect(
  res: EdgeResponse,
  redirect: ServedRedirect,
  location: string,
  stamp: Stamp,
  domain: AnswerSettings,
): void {
  const headers = ['Location', location, 'Content-Length', '0', 'Cache-Control', CACHE_CONTROL]
  headers.push('Vary', varyOf(domain), 'Last-Modified', new Date(redirect.renderedAtMs).toUTCString())
  headers.push('Age', age(stamp), 'Cache-Status', cacheStatus(stamp), 'X-Prepaint', stamp.verdict)
  headers.push('X-Prepaint-Variant', redirect.variant, 'X-Request-Id', requestIdOf(res.req))
  res.writeHead(redirect.status, headers)
  res.end()
}

function age({ ageMs }: Stamp): string {
  return `${Math.max(0, Math.floor(ageMs / 1_000))}`
}

/** RFC 9211, section 2: a stale response is a hit with a negative ttl. */
function cacheStatus({ verdict, ttlMs }: Stamp, isStored = true): string {
  if (verdict === 'rendered') return isStored ? 'Prepaint; fwd=miss; stored' : 'Prepaint; fwd=miss'
  return `Prepaint; hit; ttl=${Math.floor(ttlMs / 1_000)}`
}

/**
 * Returns whether the client has this version (RFC 9110, section 13). `etag` is that of the chosen encoding.
 * `lastModifiedMs` is in whole seconds; if it is null, dates do not count.
 */
export function isNotModified(
  headers: IncomingHttpHeaders,
  etag: string,
  lastModifiedMs: number | null,
): boolean {
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) {
    if (noneMatch === etag || noneMatch.trim() === '*') return true
    return noneMatch.split(',').some((item) => item.trim().replace(/^W\//, '') === etag)
  }
  const since = headers['if-modified-since']
  if (since === undefined || lastModifiedMs === null) return false
  // A malformed date is ignored (section 13.1.3): NaN compares false.
  return lastModifiedMs <= httpDateMs(since)
}

/** Returns NaN unless the date is in GMT: `Date.parse` alone reads `2031` and asctime dates as local time. */
function httpDateMs(text: string): number {
  return /^\w+, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN
}
