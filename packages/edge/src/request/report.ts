import type { Handled } from '@prepaint/contract/outcome/verdict.ts'
import type { Stopwatch } from '@prepaint/runtime/clock.ts'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { EdgeResponse, RequestHead } from '../server/exchange.ts'

export type Answered = Handled & {
  /** For hits: our own work only. Otherwise: until the response was sent. */
  seconds: number
  /** 0: nothing was sent, or it became a WebSocket. */
  status: number
}

type ReportParts = {
  stopwatch: Stopwatch
  idOf(req: RequestHead): string
  /** For metrics, traffic and log. Must be cheap (called for every hit) and never throw. */
  answered(req: RequestHead, answer: Answered): void
}

export class Report {
  readonly #parts: ReportParts

  constructor(parts: ReportParts) {
    this.#parts = parts
  }

  /** Assigns the request's ID; returns the start time. */
  begin(req: RequestHead): number {
    req.headers['x-request-id'] = this.#parts.idOf(req)
    return this.#parts.stopwatch()
  }

  end(req: RequestHead, started: number, handled: Handled, status: number): void {
    const seconds = this.#parts.stopwatch() - started
    this.#parts.answered(req, { ...handled, seconds, status })
  }

  /** Excludes the client's reading time for a page from memory. Otherwise reports when the response is sent. */
  endWhenSent(req: RequestHead, res: EdgeResponse, started: number, handled: Handled): void {
    const end = () => this.end(req, started, handled, res.headersSent ? res.statusCode : 0)
    if (handled.verdict === 'hit' || handled.verdict === 'stale' || res.closed) end()
    else res.on('close', end)
  }
}

type AccessLogged = 'renders' | 'all' | 'none'

/** Requests that cost less than their log line would. */
const QUIET: ReadonlySet<Answered['verdict']> = new Set([
  'hit',
  'none; unknown-host',
  'none; bad-request',
  'none; https',
  'pass; not-a-crawler',
  'pass; method',
  'pass; category',
  'pass; authorization',
  'pass; cookie',
  'pass; asset',
  'pass; excluded',
  'pass; rule',
  'pass; path',
  'pass; inactive',
  'pass; loop',
  'pass; sitemap',
])

/** One line at `info`, without the query, which may contain secrets, and without the client. */
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
