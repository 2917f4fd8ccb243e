/** The part of an ACME error type that says what is wrong (RFC 8555, section 6.7). */
const PREFIX = 'urn:ietf:params:acme:error:'
const DETAIL_CHARS = 300

/**
 * The CA, or the way to it, said no. `kind` is the last word of the error type,
 * such as `badNonce`, `rateLimited`, `unauthorized`; `unreachable` when there was
 * no answer of an ACME server at all. The message may be shown to the owner.
 */
export class AcmeProblem extends Error {
  readonly kind: string
  /** The CA wants to be left alone for so long; null: it did not say. */
  readonly retryAfterMs: number | null

  constructor(kind: string, words: string, options: ErrorOptions & { retryAfterMs?: number | null } = {}) {
    // Some of them are the CA's own, and stored: what PostgreSQL would not take would have the order begun anew each minute.
    super(plain(words), options)
    this.name = 'AcmeProblem'
    this.kind = kind
    this.retryAfterMs = options.retryAfterMs ?? null
  }
}

/** From a problem document (RFC 7807) or its like within a challenge or order. */
export function problemFrom(
  document: unknown,
  otherwise: string,
  retryAfterMs: number | null = null,
): AcmeProblem {
  const { type, detail } = fieldsOf(document)
  const kind = typeof type === 'string' && type.startsWith(PREFIX) ? type.slice(PREFIX.length) : 'unknown'
  const words = typeof detail === 'string' && detail !== '' ? detail : otherwise
  return new AcmeProblem(kind, words, { retryAfterMs })
}

/** `Retry-After` in seconds or as a date (RFC 9110, section 10.2.3); null when there is none that can be read. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000
  const at = header.endsWith('GMT') ? Date.parse(header) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}

/** A stranger's words on one line, and not too many of them. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').slice(0, DETAIL_CHARS)
}

export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
