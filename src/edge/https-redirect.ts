import { requestIdOf } from '../http/request-id.ts'
import type { EdgeDomain } from './domain.ts'
import type { EdgeRequest, EdgeResponse } from './exchange.ts'
import type { NoVerdict } from './verdict.ts'

/**
 * Sends people and crawlers to the same address by https, on its usual port.
 * 308 keeps a method that is not GET or HEAD as it is (RFC 9110, section 15.4.9);
 * 301 is what every crawler has known for ever.
 */
export function sendToHttps(req: EdgeRequest, res: EdgeResponse, { name }: EdgeDomain): NoVerdict {
  const safe = req.method === 'GET' || req.method === 'HEAD'
  // A body that nobody reads would be taken for the next request.
  if (!req.complete && !safe) res.shouldKeepAlive = false
  const location = `https://${name}${req.url?.startsWith('/') ? req.url : '/'}`
  // Kept for minutes, so that the owner can think again.
  const headers = ['Location', location, 'Content-Length', '0', 'Cache-Control', 'max-age=300']
  headers.push('X-Prepaint', 'none; https', 'X-Request-Id', requestIdOf(req))
  res.writeHead(safe ? 301 : 308, headers)
  res.end()
  return 'none; https'
}
