import { type IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** A request of HTTP/1.1 or HTTP/2. */
type Asked = {
  httpVersion: string
  method?: string | undefined
  url?: string | undefined
  headers: IncomingHttpHeaders
  rawHeaders: readonly string[]
  /** The connection; of HTTP/2, where others use it too, something that stands for this request. */
  socket: object
}

/** Connections on which something came that could be read in two ways; node may have read more requests behind it. */
const misread = new WeakSet<object>()

/**
 * Makes `GET http://host/path` what it means: `/path` with that Host (RFC 9112,
 * section 3.2.2). False for a target that is neither a path nor an http URL, and
 * for a request that another server could read differently, with all that comes
 * behind it on its connection, which is to be closed.
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

/** What node's parser lets through although RFC 9112 does not, or leaves it open. */
function isUnambiguous(req: Asked): boolean {
  const { httpVersion, headers, rawHeaders } = req
  // A request line without a version is read as HTTP/0.9, whose requests have no headers.
  // `GET / HTTP/2.0` in plain text is no HTTP/2, of which node makes no IncomingMessage.
  if (
    httpVersion !== '1.1' &&
    httpVersion !== '1.0' &&
    (httpVersion !== '2.0' || req instanceof IncomingMessage)
  )
    return false
  // Section 3.2: of two, the first Host would count here, the last elsewhere; without one, who is meant is a guess.
  if (timesNamed(rawHeaders, 'host') > 1) return false
  if (headers.host === undefined && httpVersion !== '1.0') return false
  // Sections 6.1 and 7: a coding nobody knows before `chunked`; any coding in HTTP/1.0.
  const coding = headers['transfer-encoding']
  return coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersion !== '1.0')
}

/** Of every request, so it makes nothing. `name` in lower case. */
function timesNamed(rawHeaders: readonly string[], name: string): number {
  let times = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at]!
    if (given.length === name.length && given.toLowerCase() === name) times++
  }
  return times
}
