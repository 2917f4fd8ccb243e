/** All times are in milliseconds. */
export type Lifetimes = { freshMs: number; staleMs: number; keepMs: number }

/** `stale`: served while a refresh is queued; `kept`: served only if the origin or the renderer fails. */
export const FRESHNESS_STATES = ['fresh', 'stale', 'kept', 'gone'] as const

export type Freshness = (typeof FRESHNESS_STATES)[number]

export type Aged = {
  status: number
  renderedAtMs: number
  /** When an event made it stale. */
  staleSinceMs: number | null
}

const HOUR_MS = 3_600_000

/**
 * A 401, 403, 404 or 410 is often temporary: an unfinished deploy, a returning product, a block of our renderer.
 * It is fresh for one hour and never served stale, because a crawler that reads it twice drops the page.
 */
export const NOT_FOUND_FRESH_MS = HOUR_MS

/** 302, 303 and 307 promise nothing about the next request (RFC 9110, section 15.4). */
const TEMPORARY_REDIRECT_FRESH_MS = HOUR_MS

/** Each limit is exclusive. */
export function freshnessOf(entry: Aged, lifetimes: Lifetimes, nowMs: number): Freshness {
  const freshUntilMs = freshUntil(entry, lifetimes)
  if (nowMs < freshUntilMs) return 'fresh'
  if (!isRefusal(entry.status) && nowMs < freshUntilMs + lifetimes.staleMs) return 'stale'
  return nowMs < entry.renderedAtMs + lifetimes.keepMs ? 'kept' : 'gone'
}

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
