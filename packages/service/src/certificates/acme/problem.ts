import { plainText } from '@prepaint/outbound'

/** RFC 8555, section 6.7. */
const PREFIX = 'urn:ietf:params:acme:error:'
const DETAIL_CHARS = 300

/** An error of the CA; the owner may see the message. `kind`: last word of the type, or `unreachable`. */
export class AcmeProblem extends Error {
  readonly kind: string
  readonly retryAfterMs: number | null

  constructor(kind: string, words: string, options: ErrorOptions & { retryAfterMs?: number | null } = {}) {
    // PostgreSQL must accept the CA's text, or the order would be repeated each minute.
    super(plainText(words, DETAIL_CHARS), options)
    this.name = 'AcmeProblem'
    this.kind = kind
    this.retryAfterMs = options.retryAfterMs ?? null
  }
}

/** Reads a problem document (RFC 7807), also one within a challenge or order. */
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

export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
