import type { CrawlerCategory } from '../accounts/domain-settings.ts'
import type { Stopwatch } from '../clock.ts'
import type { CrawlerTest } from './crawler.ts'
import type { EdgeResponse, RequestHead } from './exchange.ts'
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

export type ReportedAnswer = Pick<EdgeResponse, 'headersSent' | 'statusCode'>

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
