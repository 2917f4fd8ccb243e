/** Why a request went to the origin although we could have answered, or could not. */
export type PassReason =
  | 'not-a-crawler'
  | 'method'
  | 'asset'
  | 'excluded'
  | 'rule'
  | 'path'
  | 'inactive'
  | 'loop'
  | 'sitemap'
  | 'over-quota'
  | 'queue-full'
  | 'busy'
  | 'late'
  | 'database'
  /** How the job ended that brought no page, in the words of its outcome. */
  | `render-${string}`

/**
 * How one live request was answered. Sent as `X-Prepaint`, logged, and asserted
 * by the tests, so these three never disagree.
 */
export type Verdict = 'hit' | 'stale' | 'rendered' | `pass; ${PassReason}`

/** The host is nobody's, or nobody can say whose while PostgreSQL is away: there is no origin to pass to. */
export type NoVerdict = 'none; unknown-host' | 'none; database'
