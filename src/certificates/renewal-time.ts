import type { RenewalInfo } from './renewal-info.ts'

/** A moment by chance, so that certificates that were ordered together are not renewed together. */
export type Random = () => number

/** Of the lifetime; what is left then is time for failures. Lifetimes get shorter, so nothing is said in days. */
const LEFT_AT_RENEWAL = 1 / 3
const JITTER = 1 / 30

/** When to renew by the certificate's own times: at a third of its lifetime left, up to a thirtieth earlier. */
export function renewalMs(
  { notBeforeMs, notAfterMs }: { notBeforeMs: number; notAfterMs: number },
  random: Random,
): number {
  const lifetimeMs = notAfterMs - notBeforeMs
  return Math.round(notAfterMs - lifetimeMs * (LEFT_AT_RENEWAL + JITTER * random()))
}

/** When to renew by what the CA suggests: a moment of its window, at once when that is over (RFC 9773, section 4.2). */
export function suggestedMs({ startMs, endMs }: RenewalInfo, random: Random): number {
  return Math.round(startMs + (endMs - startMs) * random())
}
