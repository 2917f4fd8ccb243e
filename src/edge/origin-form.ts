import type { IncomingMessage } from 'node:http'

/**
 * Makes `GET http://host/path` what it means: `/path` with that Host (RFC 9112,
 * section 3.2.2). False for a target that is neither a path nor an http URL.
 */
export function toOriginForm(req: IncomingMessage): boolean {
  const url = req.url ?? ''
  if (url.startsWith('/') || (url === '*' && req.method === 'OPTIONS')) return true
  const absolute = /^https?:\/\/([^/?#@]+)(\/[^#]*)?$/i.exec(url)
  if (absolute === null) return false
  req.headers.host = absolute[1]!
  req.url = absolute[2] ?? '/'
  return true
}
