import type { IncomingHttpHeaders } from 'node:http'
import { createEncodingChoice, type Encoding } from '../../http/accept-encoding.ts'
import { requestIdOf } from '../../http/request-id.ts'
import { freshUntil, type Lifetimes } from '../../store/freshness.ts'
import type { EdgeRequest, EdgeResponse, RequestHead } from '../server/exchange.ts'
import {
  CACHE_CONTROL,
  type Representation,
  type SameHeaders,
  type Served,
  type ServedPage,
  type ServedRedirect,
} from './prepared-page.ts'

/** Verdicts of answers that come from our own store. */
export type ServedVerdict = 'hit' | 'stale' | 'rendered'

const chosen = createEncodingChoice()

/** What changes from one answer of an entry to the next. */
type Stamp = { verdict: ServedVerdict; ageMs: number; ttlMs: number }

export function stampOf(entry: Served, lifetimes: Lifetimes, nowMs: number, verdict: ServedVerdict): Stamp {
  const ageMs = verdict === 'rendered' ? 0 : nowMs - entry.renderedAtMs
  return { verdict, ageMs, ttlMs: freshUntil(entry, lifetimes) - nowMs }
}

/** The page in the encoding that is asked for; undefined: it is still to be made. */
export function readyFor(req: RequestHead, page: ServedPage): Representation | undefined {
  return page.ready[encodingFor(req)]
}

function encodingFor({ headers }: RequestHead): Encoding {
  const { 'accept-encoding': accepted } = headers
  // Node joins what is said twice; its types know only of some that it does.
  return chosen(typeof accepted === 'string' ? accepted : undefined)
}

/**
 * Answers with a stored page. Synchronous when the encoding asked for is ready;
 * else a promise: it is made first, and the page takes more memory. Ranges are not served (RFC 9110, section
 * 14.2 leaves that to us): the answer is the whole page.
 */
export function servePage(
  req: EdgeRequest,
  res: EdgeResponse,
  page: ServedPage,
  stamp: Stamp,
): void | Promise<void> {
  const encoding = encodingFor(req)
  const ready = page.ready[encoding]
  if (ready !== undefined) return write(req, res, page, ready, stamp)
  return page.make(encoding).then((made) => write(req, res, page, made, stamp))
}

function write(
  req: EdgeRequest,
  res: EdgeResponse,
  page: ServedPage,
  representation: Representation,
  stamp: Stamp,
): void {
  sendPageAnswer(res, pageAnswer(req, page, representation, stamp))
}

export function sendPageAnswer(res: EdgeResponse, { status, same, own, body }: PageAnswer): void {
  // A new list: appended to the page's list, this answer's headers would live as long as the page.
  res.writeHead(status, [...same.headers, ...own])
  if (body === null) res.end()
  else res.end(body)
}

/** Headers that all answers with this page share, those of this answer, and the body; null: none is sent. */
export type PageAnswer = { status: number; same: SameHeaders; own: string[]; body: Buffer | null }

export function pageAnswer(
  req: RequestHead,
  page: ServedPage,
  { whole, notModified, etag, body }: Representation,
  stamp: Stamp,
): PageAnswer {
  // Conditions apply to what would have been a 200 (RFC 9110, section 13.2.1).
  const isKnown = page.status === 200 && isNotModified(req.headers, etag, page.lastModifiedMs)
  const own = ['Age', age(stamp), 'Cache-Status', cacheStatus(stamp, page.isStored)]
  own.push('X-Prepaint', stamp.verdict, 'X-Request-Id', requestIdOf(req))
  if (isKnown) return { status: 304, same: notModified, own, body: null }
  return { status: page.status, same: whole, own, body: req.method === 'HEAD' ? null : body }
}

/** Answers from the redirect cache; `location` is where it leads for this client. */
export function serveRedirect(
  res: EdgeResponse,
  redirect: ServedRedirect,
  location: string,
  stamp: Stamp,
): void {
  res.writeHead(redirect.status, [
    ...['Location', location, 'Content-Length', '0', 'Cache-Control', CACHE_CONTROL, 'Vary', 'User-Agent'],
    ...['Last-Modified', new Date(redirect.renderedAtMs).toUTCString()],
    ...['Age', age(stamp), 'Cache-Status', cacheStatus(stamp), 'X-Prepaint', stamp.verdict],
    ...['X-Request-Id', requestIdOf(res.req)],
  ])
  res.end()
}

function age({ ageMs }: Stamp): string {
  return `${Math.max(0, Math.floor(ageMs / 1_000))}`
}

/** RFC 9211, section 2: a stale answer is a hit whose time to live is past. */
function cacheStatus({ verdict, ttlMs }: Stamp, isStored = true): string {
  if (verdict === 'rendered') return isStored ? 'Prepaint; fwd=miss; stored' : 'Prepaint; fwd=miss'
  return `Prepaint; hit; ttl=${Math.floor(ttlMs / 1_000)}`
}

/**
 * Whether the client already has it (RFC 9110, section 13). If-None-Match
 * compares weakly and, where present, alone decides; `etag` is that of the
 * encoding that would be sent. `lastModifiedMs` is in whole seconds.
 */
export function isNotModified(headers: IncomingHttpHeaders, etag: string, lastModifiedMs: number): boolean {
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) {
    if (noneMatch === etag || noneMatch.trim() === '*') return true
    return noneMatch.split(',').some((item) => item.trim().replace(/^W\//, '') === etag)
  }
  const since = headers['if-modified-since']
  if (since === undefined) return false
  // A malformed date is ignored (section 13.1.3): NaN compares false.
  return lastModifiedMs <= httpDateMs(since)
}

/**
 * Milliseconds since the epoch; NaN for what is no date in GMT. `Date.parse` alone also takes `2031`, and asctime's
 * form (RFC 9110, section 5.6.7), which no client sends today, for local time.
 */
function httpDateMs(text: string): number {
  return /^\w+, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN
}
