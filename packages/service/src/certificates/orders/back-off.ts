import type { Random } from '../acme/renewal.ts'

/** `not-here`: the name points elsewhere. `ca-away`: no response. `refused`: by the CA. `fault`: internal error. */
export type FailureKind = 'not-here' | 'ca-away' | 'refused' | 'fault'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** Doubles from `firstMs` to `mostMs`. Let's Encrypt allows five refusals an hour for each name. */
const STEPS: Record<FailureKind, { firstMs: number; mostMs: number }> = {
  'not-here': { firstMs: MINUTE_MS, mostMs: HOUR_MS },
  'ca-away': { firstMs: MINUTE_MS, mostMs: HOUR_MS },
  refused: { firstMs: 10 * MINUTE_MS, mostMs: 24 * HOUR_MS },
  fault: { firstMs: 5 * MINUTE_MS, mostMs: 6 * HOUR_MS },
}
const MOST_WANTED_MS = 48 * HOUR_MS
const LEAST_RENEWAL_MS = 10 * MINUTE_MS

/** The wait after `failures` failures in a row, with up to 25 % jitter; at least what the CA wants. */
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

/** Returns the wait before a certificate that ends in `leftMs` is tried again: around its end that is more often. */
export function renewalBackOffMs(usualMs: number, leftMs: number, wantedMs: number | null): number {
  const nearMs = Math.max(Math.abs(leftMs) / 8, LEAST_RENEWAL_MS)
  return Math.max(Math.min(usualMs, nearMs), leastWaitMs(wantedMs))
}

function leastWaitMs(wantedMs: number | null): number {
  return Math.min(wantedMs ?? 0, MOST_WANTED_MS)
}
