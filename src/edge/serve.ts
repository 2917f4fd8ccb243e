import { createEncodingChoice } from '../http/accept-encoding.ts'
import { requestIdOf } from '../http/request-id.ts'
import { isNotModified } from './conditional.ts'
import type { EdgeRequest, EdgeResponse } from './exchange.ts'
import { CACHE_CONTROL, type Representation, type ServedPage, type ServedRedirect } from './served.ts'

/** Verdicts of answers that come from our own store. */
export type ServedVerdict = 'hit' | 'stale' | 'rendered'

const chosen = createEncodingChoice()

/** What changes from one answer of an entry to the next. */
export type Stamp = { verdict: ServedVerdict; ageMs: number; ttlMs: number }

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
  const encoding = chosen(req.headers['accept-encoding'] as string | undefined)
  const ready = page.ready[encoding]
  if (ready !== undefined) return write(req, res, page, ready, stamp)
  return page.make(encoding).then((made) => write(req, res, page, made, stamp))
}

function write(
  req: EdgeRequest,
  res: EdgeResponse,
  page: ServedPage,
  { body, etag, headers, notModifiedHeaders }: Representation,
  stamp: Stamp,
): void {
  // Conditions apply to what would have been a 200 (RFC 9110, section 13.2.1).
  const notModified = page.status === 200 && isNotModified(req.headers, etag, page.lastModifiedMs)
  // A list of its own: written into the page's, what is said once would be kept for as long as the page.
  const list = [
    ...(notModified ? notModifiedHeaders : headers),
    ...['Age', age(stamp), 'Cache-Status', cacheStatus(stamp, page.isStored)],
    ...['X-Prepaint', stamp.verdict, 'X-Request-Id', requestIdOf(req)],
  ]
  res.writeHead(notModified ? 304 : page.status, list)
  if (notModified || req.method === 'HEAD') res.end()
  else res.end(body)
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
