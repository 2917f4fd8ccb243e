import type { EdgeRequest, EdgeResponse } from './exchange.ts'
import { PASSED_METHODS, sendPlainPage } from './plain-page.ts'

/** Not passed on: TRACE shows a client what only the origin is told, CONNECT is for open proxies. */
const NOT_PASSED = new Set(['TRACE', 'CONNECT'])

/**
 * Answers what goes no further than to us, and says whether it did: methods
 * that are not passed on, and OPTIONS whose Max-Forwards is used up. One that is
 * not is counted down (RFC 9110, section 7.6.2).
 */
export function lastHop(req: EdgeRequest, res: EdgeResponse, verdict: string): boolean {
  if (NOT_PASSED.has(req.method ?? '')) {
    sendPlainPage(res, 'method-not-allowed', verdict)
    return true
  }
  const left = req.headers['max-forwards']
  if (req.method !== 'OPTIONS' || typeof left !== 'string' || !/^\d{1,9}$/.test(left)) return false
  if (Number(left) === 0) {
    res.writeHead(204, ['Allow', PASSED_METHODS, 'X-Prepaint', verdict])
    res.end()
    return true
  }
  const fewer = `${Number(left) - 1}`
  req.rawHeaders.forEach((text, at) => {
    if (at % 2 === 0 && text.toLowerCase() === 'max-forwards') req.rawHeaders[at + 1] = fewer
  })
  return false
}
