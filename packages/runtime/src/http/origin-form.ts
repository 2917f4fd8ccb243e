import { type IncomingHttpHeaders, IncomingMessage } from 'node:http'

type Asked = {
  httpVersion: string
  method?: string | undefined
  url?: string | undefined
  headers: IncomingHttpHeaders
  rawHeaders: readonly string[]
  /** The connection, or for HTTP/2 an object per request. */
  socket: object
}

/** Remembers connections with an ambiguous request. Node may have parsed more requests behind it. */
const misread = new WeakSet<object>()

/**
 * Rewrites `GET http://host/path` to `/path` with that Host (RFC 9112, section 3.2.2). Returns false for other targets and
 * ambiguous requests: refuse them and close the connection.
 */
export function toOriginForm(req: Asked): boolean {
  if (!isUnambiguous(req)) misread.add(req.socket)
  if (misread.has(req.socket)) return false
  const url = req.url ?? ''
  if (url.startsWith('/') || (url === '*' && req.method === 'OPTIONS')) return true
  const absolute = /^https?:\/\/([^/?#@]+)(\/[^#]*)?$/i.exec(url)
  if (absolute === null) return false
  req.headers.host = absolute[1]!
  req.url = absolute[2] ?? '/'
  return true
}

/** Rejects what Node's parser accepts although RFC 9112 forbids it or leaves it open. */
function isUnambiguous(req: Asked): boolean {
  const { httpVersion, headers, rawHeaders } = req
  // Without a version: HTTP/0.9, which has no headers. Plain text `GET / HTTP/2.0` is not HTTP/2.
  if (
    httpVersion !== '1.1' &&
    httpVersion !== '1.0' &&
    (httpVersion !== '2.0' || req instanceof IncomingMessage)
  )
    return false
  // Section 3.2: servers disagree on which of two Hosts counts. Without one, the site is unknown.
  if (timesNamed(rawHeaders, 'host') > 1) return false
  if (headers.host === undefined && httpVersion !== '1.0') return false
  // Sections 6.1 and 7: unknown codings before `chunked`, or any coding in HTTP/1.0.
  const coding = headers['transfer-encoding']
  return coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersion !== '1.0')
}

/** Allocates nothing, because it runs for every request. `name` is lower-case. */
function timesNamed(rawHeaders: readonly string[], name: string): number {
  let times = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at]!
    if (given.length === name.length && given.toLowerCase() === name) times++
  }
  return times
}
