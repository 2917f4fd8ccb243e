import { requestIdOf } from '../http/request-id.ts'
import type { Log } from '../log.ts'
import type { RequestHead } from './exchange.ts'
import type { Answered } from './report.ts'

/** Which live requests have a line: those that had to do with a render, or should have; every one; none. */
export type AccessLogged = 'renders' | 'all' | 'none'

/** How requests end that never were to be rendered, and that cost less than their line would. */
const QUIET: ReadonlySet<Answered['verdict']> = new Set([
  ...(['hit', 'none; unknown-host', 'none; bad-request', 'none; https'] as const),
  ...(['pass; not-a-crawler', 'pass; method', 'pass; category', 'pass; authorization'] as const),
  ...(['pass; asset', 'pass; excluded', 'pass; rule', 'pass; path', 'pass; inactive'] as const),
  ...(['pass; loop', 'pass; sitemap'] as const),
])

/** One line for a live request, at `info`. Without the query, which people put secrets into, and without who asked. */
export function createAccessLog(
  log: Log,
  logged: AccessLogged,
): (req: RequestHead, answer: Answered) => void {
  if (logged === 'none') return () => {}
  return (req, { verdict, crawler, seconds }) => {
    if (logged === 'renders' && QUIET.has(verdict)) return
    const { method, headers, url = '' } = req
    const query = url.indexOf('?')
    log.info(
      {
        requestId: requestIdOf(req),
        method,
        host: headers.host,
        path: query === -1 ? url : url.slice(0, query),
        verdict,
        crawler,
        ms: Math.round(seconds * 100_000) / 100,
      },
      'request',
    )
  }
}
