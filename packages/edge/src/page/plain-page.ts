import type { Verdict } from '@prepaint/contract/outcome/verdict.ts'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'

/** Our own pages: short, and without internal details. */
const PAGES = {
  'unknown-host': [404, 'Unknown site', 'No site is registered here under this name.'],
  'not-found': [404, 'Page not found', 'There is no such page on this site.'],
  gone: [410, 'Page gone', 'This page is no longer on this site.'],
  'bad-request': [400, 'Bad request', 'This request could not be understood.'],
  'slow-request': [408, 'The request took too long', 'It was not sent to its end in time.'],
  'too-many-requests': [429, 'Too many requests', 'Too many requests at once come from your address.'],
  'too-many-connections': [429, 'Too many connections', 'Too many are open from your address.'],
  'headers-too-large': [431, 'Headers too large', 'The headers of this request are too large.'],
  'bad-gateway': [502, 'The site cannot be reached', 'The server behind this site did not answer properly.'],
  'gateway-timeout': [504, 'The site is too slow', 'The server behind this site did not answer in time.'],
  'refused-origin': [502, 'The site cannot be reached', 'The server behind this site may not be contacted.'],
  'method-not-allowed': [405, 'Not allowed', 'This method is not passed on.'],
  loop: [508, 'Going round in circles', 'The server behind this site sends its visitors back to us.'],
  'unknown-for-now': [503, 'Please try again', 'It cannot be found out for a moment which site this is.'],
  unavailable: [503, 'Please try again', 'This site cannot be served for a moment.'],
} as const satisfies Record<string, readonly [status: number, title: string, words: string]>

export type PlainPage = keyof typeof PAGES

/** TRACE would show clients headers meant for the origin; CONNECT is for open proxies. */
export const PASSED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

export function statusOf(page: PlainPage): number {
  return PAGES[page][0]
}

/**
 * Returns the headers, as names and values by turns, and the body of our own page, which is never cacheable. People see
 * `reference`, which finds the log line.
 */
export function plainPage(
  page: PlainPage,
  verdict: string,
  reference: string | null = null,
): { headers: string[]; body: string } {
  const [status, title, words] = PAGES[page]
  const tell = reference === null ? '' : `<p>Reference: <code>${reference}</code></p>`
  const body = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex"><title>${title}</title>
<body style="font:16px/1.5 system-ui;max-width:32em;margin:20vh auto;padding:0 1em">
<h1 style="font-size:1.4em">${title}</h1><p>${words}</p>${tell}</body></html>
`
  const headers = ['Content-Type', 'text/html; charset=utf-8', 'Content-Length', `${Buffer.byteLength(body)}`]
  headers.push('Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff', 'X-Prepaint', verdict)
  // A crawler retries instead of dropping the page.
  if (status >= 500 || status === 429) headers.push('Retry-After', page === 'unknown-for-now' ? '10' : '30')
  if (status === 405) headers.push('Allow', PASSED_METHODS)
  return { headers, body }
}

export function sendPlainPage(
  res: EdgeResponse,
  page: PlainPage,
  verdict: string,
  reference: string | null = null,
): void {
  if (res.headersSent) {
    res.destroy()
    return
  }
  // The unread body would be parsed as the next request.
  if (page === 'too-many-requests' && !res.req.complete) res.shouldKeepAlive = false
  const { headers, body } = plainPage(page, verdict, reference)
  const id = requestIdOf(res.req)
  if (id !== '') headers.push('X-Request-Id', id)
  res.writeHead(PAGES[page][0], headers)
  res.end(res.req.method === 'HEAD' ? undefined : body)
}

/** Sends a text that the owner decided, or without `body` that it is not modified. */
export function sendText(
  req: EdgeRequest,
  res: EdgeResponse,
  answer: { status: number; verdict: Verdict; headers: readonly string[]; body?: string },
): Verdict {
  const { status, verdict, headers, body } = answer
  // An unread body would be parsed as the next request.
  if (!req.complete && req.method !== 'GET' && req.method !== 'HEAD') res.shouldKeepAlive = false
  const sent = [...headers]
  if (body !== undefined) {
    sent.push('Content-Type', 'text/plain; charset=utf-8', 'Content-Length', `${Buffer.byteLength(body)}`)
  }
  sent.push('X-Content-Type-Options', 'nosniff', 'X-Prepaint', verdict, 'X-Request-Id', requestIdOf(req))
  res.writeHead(status, sent)
  res.end(req.method === 'HEAD' ? undefined : body)
  return verdict
}

/** Returns the page as a whole HTTP/1.1 response that ends the connection. Write it as Latin-1. */
export function pageMessage(page: PlainPage, verdict: string): string {
  const { headers, body } = plainPage(page, verdict)
  return messageHead(statusOf(page), PAGES[page][1], [...headers, 'Connection', 'close']) + body
}

/** Write as Latin-1. Values contain no line breaks: they come from Node's parser or this program. */
export function messageHead(status: number, reason: string, headers: readonly string[]): string {
  return `HTTP/1.1 ${status} ${reason}\r\n${headerLines(headers)}\r\n`
}

/** Returns header lines with line breaks, in one flat string, because a rope of pieces takes more memory. */
export function headerLines(headers: readonly string[]): string {
  const lines: string[] = []
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}\r\n`)
  return lines.join('')
}
