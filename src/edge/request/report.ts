import type { Stopwatch } from '../../clock.ts'
import { requestIdOf } from '../../http/request-id.ts'
import type { Log } from '../../log.ts'
import type { CrawlerCategory } from '../../sites/domain-settings.ts'
import type { CrawlerTest } from '../crawlers/crawler-test.ts'
import type { EdgeResponse, RequestHead } from '../server/exchange.ts'
import type { NoVerdict, Verdict } from './verdict.ts'

/** A live request that has been answered. */
export type Answered = {
  verdict: Verdict | NoVerdict
  /** null: a person, a tool, or nobody knows. */
  crawler: CrawlerCategory | null
  /** What our own work took for a page from memory; for all else, until the answer had gone out. */
  seconds: number
}

export type ReportDeps = {
  crawlerOf: CrawlerTest
  stopwatch: Stopwatch
  /** See `createRequestIds`. */
  nameOf(req: RequestHead): string
  /** Figures, log. Called on the hit path: costs next to nothing, and never throws. */
  answered(req: RequestHead, answer: Answered, res: ReportedAnswer): void
}

type ReportedAnswer = Pick<EdgeResponse, 'headersSent' | 'statusCode'>

/** Of a handshake: what becomes of its connection is no answer. */
const NO_ANSWER: ReportedAnswer = { headersSent: false, statusCode: 0 }

/**
 * Called when a request begins, or a handshake, which has no `res`; what it gives
 * is called with the verdict, once.
 */
export type Report = (
  req: RequestHead,
  res: (ReportedAnswer & { readonly closed: boolean; on(event: 'close', tell: () => void): unknown }) | null,
) => (verdict: Verdict | NoVerdict) => void

export function createReport({ crawlerOf, stopwatch, nameOf, answered }: ReportDeps): Report {
  return (req, res) => {
    const started = stopwatch()
    // From here on that is what it is called: in the answer, at the origin, at its job, in the log.
    req.headers['x-request-id'] = nameOf(req)
    return (verdict) => {
      const crawler = crawlerIn(verdict, req)
      const tell = () => answered(req, { verdict, crawler, seconds: stopwatch() - started }, res ?? NO_ANSWER)
      // A page from memory has been handed over whole; how fast the client takes it is not our figure.
      if (res === null || verdict === 'hit' || verdict === 'stale' || res.closed) tell()
      else res.on('close', tell)
    }
  }

  function crawlerIn(verdict: Verdict | NoVerdict, req: RequestHead): CrawlerCategory | null {
    if (verdict === 'pass; not-a-crawler' || verdict.startsWith('none')) return null
    const crawler = crawlerOf(req.headers['user-agent'], req.askedOf?.crawlers)
    const servedAsOne = verdict === 'hit' || verdict === 'stale' || verdict === 'rendered'
    return crawler ?? (servedAsOne ? 'other' : null)
  }
}

/** Which live requests have a line: those that had to do with a render, or should have; every one; none. */
type AccessLogged = 'renders' | 'all' | 'none'

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
