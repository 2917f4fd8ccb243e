import type { IncomingHttpHeaders } from 'node:http'

/**
 * The form in which middlewares for prerender services ask for pages, as far as edge and API share it. A response with
 * `X-Prepaint` is the site's; a response without it is a refusal, and the front sends its crawler the site's own answer.
 */

/** Every refusal. A 503 makes crawlers come back, where a 404, 401 or 403 takes the page out of an index. */
const REFUSALS = {
  method: { status: 405, reason: 'method-not-allowed' },
  'over-capacity': { status: 503, reason: 'over-capacity', retrySeconds: 1 },
  unavailable: { status: 503, reason: 'unavailable', retrySeconds: 5 },
  'no-key': { status: 403, reason: 'no-x-prerender-token-provided' },
  'unknown-key': { status: 401, reason: 'invalid-x-prerender-token-provided' },
  'dead-key': { status: 503, reason: 'invalid-x-prerender-token-provided', retrySeconds: 3_600 },
  plan: { status: 503, reason: 'plan-without-api-access', retrySeconds: 3_600 },
  right: { status: 503, reason: 'key-without-right', retrySeconds: 3_600 },
  url: { status: 404, reason: 'url-invalid' },
  domain: { status: 503, reason: 'domain-not-registered', retrySeconds: 3_600 },
  'not-proven': { status: 503, reason: 'domain-not-proven', retrySeconds: 3_600 },
  'refused-origin': { status: 503, reason: 'origin-refused', retrySeconds: 300 },
  'unreachable-origin': { status: 502, reason: 'connection-error' },
  'silent-origin': { status: 504, reason: 'rendering-error' },
} as const satisfies Record<string, { status: number; reason: string; retrySeconds?: number }>

export type FrontRefusal = keyof typeof REFUSALS

const FRONT_METHODS = 'GET, HEAD'

type Response = {
  readonly headersSent: boolean
  writeHead(status: number, headers: string[]): unknown
  end(): unknown
  destroy(): unknown
}

/** Sends an empty body and no `X-Prepaint`. Breaks the response off if it has begun. */
export function sendFrontRefusal(res: Response, refusal: FrontRefusal): void {
  if (res.headersSent) {
    res.destroy()
    return
  }
  const { status, reason, ...others } = REFUSALS[refusal]
  const headers = ['X-Prerender-Reject-Reason', reason, 'Cache-Control', 'no-store', 'Content-Length', '0']
  if ('retrySeconds' in others) headers.push('Retry-After', `${others.retrySeconds}`)
  if (refusal === 'method') headers.push('Allow', FRONT_METHODS)
  res.writeHead(status, headers)
  res.end()
}

export function frontReason(refusal: FrontRefusal): string {
  return REFUSALS[refusal].reason
}

const REQUEST_ID = /^[\w.:+/=@-]{1,128}$/

/** Returns the ID that the front gave its request, or null if there is none that is safe in headers and log lines. */
export function frontRequestId({ 'x-prerender-request-id': given }: IncomingHttpHeaders): string | null {
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : null
}

/** Returns whether the header is for us: origins and other sites never get it. `name` is in lower case. */
export function isOfFront(name: string): boolean {
  if (!name.startsWith('x-prerender-')) return false
  return (
    name === 'x-prerender-token' || name === 'x-prerender-request-id' || name.startsWith('x-prerender-int-')
  )
}
