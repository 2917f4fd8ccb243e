/** How a job ended that brought no page, in the words of the queue: `timed-out`, `not-html`, `cancelled` ... */
export type Outcome = string & { readonly brand: 'Outcome' }

/** Why a request went to the origin although we could have answered, or could not. */
export type PassReason =
  | 'not-a-crawler'
  | 'method'
  | 'category'
  | 'authorization'
  | 'asset'
  | 'excluded'
  | 'rule'
  | 'path'
  | 'inactive'
  | 'loop'
  | 'sitemap'
  | 'forged'
  | 'over-quota'
  | 'queue-full'
  | 'busy'
  | 'late'
  | 'database'
  | 'unservable'
  | Outcome

/**
 * How one live request was answered. Sent as `X-Prepaint`, logged, and asserted
 * by the tests, so these three never disagree.
 */
export type Verdict = 'hit' | 'stale' | 'rendered' | `pass; ${PassReason}`

/** There is no origin to pass to: the host is nobody's, or nobody can say whose (`fault`); or it is to be asked by https. */
export type NoVerdict =
  | 'none; unknown-host'
  | 'none; bad-request'
  | 'none; https'
  | 'none; fault'
  | 'none; too-many-requests'
  | 'none; too-many-connections'

/** Anything but a plain word is not repeated to the outside. */
export function outcomeOf(text: string): Outcome {
  return (/^[a-z0-9-]{1,40}$/.test(text) ? text : 'failed') as Outcome
}

const passVerdicts = new Map<PassReason, Verdict>()

/** The same text each time: one that is joined anew would be joined and hashed for each look-up of each request. */
export function passVerdict(why: PassReason): Verdict {
  const known = passVerdicts.get(why)
  if (known !== undefined) return known
  const verdict: Verdict = `pass; ${why}`
  // Reasons are few; outcomes are what renderers of another version may call them.
  if (passVerdicts.size < 100) passVerdicts.set(why, verdict)
  return verdict
}
