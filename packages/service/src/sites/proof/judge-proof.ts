import type { PROOF_METHODS, PROOF_STATES } from '@prepaint/contract/api/proof.ts'
import type { ProofLook } from './look-for-proof.ts'

/**
 * What is known of the proof of a domain.
 *
 * ```
 *                     found                       missing twice, a day apart
 *   asked ------------------------------> proven ---------------------------> lost
 *     |  ^                                  ^                                  |
 *     |  | required, or another account     +----------------------------------+
 *     |  | had the name and it leads here                  found
 *     v  |
 *   not-asked: it never led here, or proofs are asked for no longer
 * ```
 */
export type ProofState = {
  state: (typeof PROOF_STATES)[number]
  served: boolean
  /** Why it is asked for. `former`: another account had the name, and whether it leads here is not known yet. */
  reason: 'former' | 'takeover' | 'required' | null
  method: (typeof PROOF_METHODS)[number] | null
  askedAtMs: number | null
  checkedAtMs: number | null
  deadlineMs: number | null
  error: string | null
  /** When the proof was missing first; null: it was there. */
  missedAtMs: number | null
}

export const NOT_ASKED: ProofState = {
  state: 'not-asked',
  served: true,
  reason: null,
  method: null,
  askedAtMs: null,
  checkedAtMs: null,
  deadlineMs: null,
  error: null,
  missedAtMs: null,
}

/** `speed` divides the long times: PREPAINT_NOTIFY_SPEED. */
export type ProofTimes = { nowMs: number; speed: number }

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** How long existing domains are served without a proof. */
export const GRACE_MS = 30 * DAY_MS
const LOOK_EVERY_MS = 7 * DAY_MS
const MISSED_TWICE_MS = DAY_MS
/** While a proof is asked for: often on the first day, when owners set it up. */
const ASKED_SOON_MS = 10 * MINUTE_MS
const ASKED_LATER_MS = 6 * HOUR_MS
const UNDECIDED_MS = MINUTE_MS

/** Returns what is known after a look. */
export function judgeProof(before: ProofState, look: ProofLook, { nowMs, speed }: ProofTimes): ProofState {
  const after: ProofState = { ...before, checkedAtMs: nowMs }
  if (look.kind === 'found') {
    // The operator has seen more than a record.
    const method = before.state === 'proven' && before.method === 'operator' ? 'operator' : look.method
    return {
      ...after,
      state: 'proven',
      served: true,
      reason: null,
      method,
      deadlineMs: null,
      error: null,
      missedAtMs: null,
    }
  }
  if (before.state === 'proven') {
    const sight = sightOf(before, look)
    if (sight === 'stands') return { ...after, error: null, missedAtMs: null }
    if (sight === 'unknown') return { ...after, error: null }
    const missedAtMs = before.missedAtMs ?? nowMs
    const isLost = nowMs - missedAtMs >= MISSED_TWICE_MS / speed
    return { ...after, state: isLost ? 'lost' : 'proven', error: look.error, missedAtMs }
  }
  if (before.reason === 'former') {
    if (look.site === 'here') return { ...after, reason: 'takeover', error: look.error }
    return look.site === 'unknown' ? { ...after, error: look.error } : { ...NOT_ASKED, checkedAtMs: nowMs }
  }
  return { ...after, error: look.error }
}

/** Returns whether a proof that was not found is gone, stands without it, or cannot be seen now. */
function sightOf(
  { method }: ProofState,
  { isRecordAbsent, site }: Extract<ProofLook, { kind: 'missing' }>,
): 'gone' | 'stands' | 'unknown' {
  if (method === 'dns') return isRecordAbsent ? 'gone' : 'unknown'
  if (method !== 'file' && method !== 'meta') return 'stands'
  // Once the name leads here, a file or a tag cannot be seen any more, and stands as long as it does.
  if (site === 'here') return 'stands'
  return site === 'elsewhere' || site === 'none' ? 'gone' : 'unknown'
}

/** Returns what is known when the time without a proof is over. */
export function expireProof(before: ProofState, nowMs: number): ProofState {
  const isOver =
    before.state === 'asked' && before.served && before.deadlineMs !== null && before.deadlineMs <= nowMs
  return isOver ? { ...before, served: false } : before
}

/** Returns the milliseconds until the next look, or null if there is nothing to look for. */
export function nextLookMs(
  { state, reason, method, served, askedAtMs, deadlineMs, missedAtMs }: ProofState,
  { nowMs, speed }: ProofTimes,
): number | null {
  if (state === 'not-asked') return null
  if (state === 'asked') {
    const sinceMs = nowMs - (askedAtMs ?? nowMs)
    if (reason === 'former' && sinceMs < HOUR_MS) return UNDECIDED_MS
    const everyMs = sinceMs < DAY_MS ? ASKED_SOON_MS : ASKED_LATER_MS
    const leftMs = served && deadlineMs !== null ? Math.max(0, deadlineMs - nowMs) : everyMs
    return Math.min(everyMs, leftMs)
  }
  if (method === 'traffic' || method === 'operator') return null
  if (state === 'proven' && missedAtMs !== null) {
    const leftMs = missedAtMs + MISSED_TWICE_MS / speed - nowMs
    // When the day was over, neither name servers nor the site answered.
    return leftMs > 0 ? leftMs : HOUR_MS / speed
  }
  return LOOK_EVERY_MS / speed
}
