/** Lengths of a page's life, in milliseconds, as the domain's settings (or a rule for the path) say. */
export type Lifetimes = { freshMs: number; staleMs: number; keepMs: number }

export type Freshness =
  /** Served as it is. */
  | 'fresh'
  /** Served, and a refresh is queued. */
  | 'stale'
  /** Only for when the origin or the renderer fails. */
  | 'kept'
  /** As if it were not stored. */
  | 'gone'

/** What freshness depends on; a page and a redirect both have it. */
export type Aged = {
  status: number
  /** Milliseconds since the Unix epoch, of the render. */
  renderedAtMs: number
  /** When something other than age made it stale; null: nothing did. */
  staleSinceMs: number | null
}

const HOUR_MS = 3_600_000

/**
 * A 404 or 410 is often a deploy that is not yet through or a product that
 * comes back, and a crawler that reads it twice drops the page: after an hour
 * it is asked for again, and never served while that is found out. So is a 401
 * or 403: as often as not it was meant for us, and not for the page.
 */
export const NOT_FOUND_FRESH_MS = HOUR_MS

/**
 * 302, 303 and 307 promise nothing about the next request (RFC 9110, section
 * 15.4): sign-in walls, campaigns and language choice change within hours.
 */
const TEMPORARY_REDIRECT_FRESH_MS = HOUR_MS

/**
 * Fresh for `freshMs` after the render, or until something made it stale; then
 * stale for `staleMs`; kept to the age of `keepMs`. Each end is exclusive.
 */
export function freshnessOf(entry: Aged, lifetimes: Lifetimes, nowMs: number): Freshness {
  const freshUntilMs = freshUntil(entry, lifetimes)
  if (nowMs < freshUntilMs) return 'fresh'
  if (!isRefusal(entry.status) && nowMs < freshUntilMs + lifetimes.staleMs) return 'stale'
  return nowMs < entry.renderedAtMs + lifetimes.keepMs ? 'kept' : 'gone'
}

/** When an entry ceases to be fresh, in milliseconds since the Unix epoch. */
export function freshUntil(entry: Aged, lifetimes: Lifetimes): number {
  let freshMs = lifetimes.freshMs
  if (isRefusal(entry.status)) freshMs = Math.min(freshMs, NOT_FOUND_FRESH_MS)
  else if (isTemporaryRedirect(entry.status)) freshMs = Math.min(freshMs, TEMPORARY_REDIRECT_FRESH_MS)
  const byAge = entry.renderedAtMs + freshMs
  return entry.staleSinceMs === null ? byAge : Math.min(byAge, entry.staleSinceMs)
}

function isRefusal(status: number): boolean {
  return status >= 400
}

function isTemporaryRedirect(status: number): boolean {
  return status === 302 || status === 303 || status === 307
}
