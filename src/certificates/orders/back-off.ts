import type { Random } from '../acme/renewal.ts'

/**
 * Why there is no new certificate. `not-here`: the name does not lead to us, so
 * the CA was not asked; `ca-away`: the CA did not answer; `refused`: it said no;
 * `fault`: something of ours.
 */
export type FailureKind = 'not-here' | 'ca-away' | 'refused' | 'fault'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/**
 * What follows a first failure, and the most that it grows to by doubling. DNS
 * that is about to be changed is worth a look every hour; a CA counts refusals
 * against us (Let's Encrypt: five in an hour for a name).
 */
const STEPS: Record<FailureKind, { firstMs: number; mostMs: number }> = {
  'not-here': { firstMs: MINUTE_MS, mostMs: HOUR_MS },
  'ca-away': { firstMs: MINUTE_MS, mostMs: HOUR_MS },
  refused: { firstMs: 10 * MINUTE_MS, mostMs: 24 * HOUR_MS },
  fault: { firstMs: 5 * MINUTE_MS, mostMs: 6 * HOUR_MS },
}
/** A CA that says "in a year" is asked again all the same. */
const MOST_WANTED_MS = 48 * HOUR_MS
const LEAST_RENEWAL_MS = 10 * MINUTE_MS

/**
 * How long to wait after a failure, the `failures`th in a row: up to a quarter
 * less by chance, never less than the CA wants.
 */
export function backOffMs(
  kind: FailureKind,
  failures: number,
  random: Random,
  wantedMs: number | null = null,
): number {
  const { firstMs, mostMs } = STEPS[kind]
  const grown = Math.min(firstMs * 2 ** Math.min(failures - 1, 30), mostMs)
  return Math.round(Math.max(grown * (1 - random() / 4), leastWaitMs(wantedMs)))
}

/**
 * The same for a certificate that is there and ends in `leftMs`, or has ended: around
 * its end it is tried for more often, but never against what the CA wants, and not for ever.
 */
export function renewalBackOffMs(usualMs: number, leftMs: number, wantedMs: number | null): number {
  const nearMs = Math.max(Math.abs(leftMs) / 8, LEAST_RENEWAL_MS)
  return Math.max(Math.min(usualMs, nearMs), leastWaitMs(wantedMs))
}

function leastWaitMs(wantedMs: number | null): number {
  return Math.min(wantedMs ?? 0, MOST_WANTED_MS)
}
