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
  const { status, same, own, body } = pageAnswer(req, page, representation, stamp)
  // A list of its own: written into the page's, what is said once would be kept for as long as the page.
  res.writeHead(status, [...same.headers, ...own])
  if (body === null) res.end()
  else res.end(body)
}

/** What is answered with a page: headers that are the same for everybody, those of this answer, and the body, null without one. */
export function pageAnswer(
  req: RequestHead,
  page: ServedPage,
  { whole, notModified, etag, body }: Representation,
  stamp: Stamp,
): { status: number; same: SameHeaders; own: string[]; body: Buffer | null } {
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
  // A malformed date is ignored (section 13.1.3): NaN compares false. What was rendered is of this century.
  return lastModifiedMs <= httpDateMs(since, lastModifiedMs)
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Three forms in which a date may come (RFC 9110, section 5.6.7); only the first is sent today. */
const IMF = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d\d) (\w{3}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT$/
const RFC850 = /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\d\d)-(\w{3})-(\d\d) (\d\d):(\d\d):(\d\d) GMT$/
const ASCTIME = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (\w{3}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})$/

/**
 * A date of HTTP in milliseconds since the Unix epoch; NaN for all else. Not
 * `Date.parse`, which also takes `2031` for one, and asctime's for local time.
 * A year of two digits is of the century of `nowMs`, or of the one before where
 * it would lie more than fifty years ahead.
 */
export function httpDateMs(text: string, nowMs: number): number {
  const imf = IMF.exec(text)
  if (imf !== null) return utc(imf[3]!, imf[2]!, imf[1]!, imf.slice(4))
  const asctime = ASCTIME.exec(text)
  if (asctime !== null) return utc(asctime[6]!, asctime[1]!, asctime[2]!, asctime.slice(3, 6))
  const rfc850 = RFC850.exec(text)
  if (rfc850 === null) return Number.NaN
  const thisYear = new Date(nowMs).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + Number(rfc850[3])
  return utc(`${year > thisYear + 50 ? year - 100 : year}`, rfc850[2]!, rfc850[1]!, rfc850.slice(4))
}

function utc(year: string, month: string, day: string, time: readonly string[]): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.map(Number)
  const at = MONTHS.indexOf(month)
  const date = Number(day)
  // 60: a leap second.
  if (at === -1 || date < 1 || date > 31 || hours > 23 || minutes > 59 || seconds > 60) return Number.NaN
  return Date.UTC(Number(year), at, date, hours, minutes, seconds)
}
