import type { Way } from '@prepaint/contract/api/fronts.ts'
import type { Handled } from '@prepaint/contract/outcome/verdict.ts'
import type { Stopwatch } from '@prepaint/runtime/clock.ts'
import { frontRequestId } from '@prepaint/runtime/http/front-form.ts'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { EdgeBackend } from '../backend.ts'
import type { EdgeResponse, RequestHead } from '../server/exchange.ts'

export type Answered = Handled & {
  /** The edge's own work for a hit; otherwise the time until the response was sent. */
  seconds: number
  /** The status that was sent, or 0 if nothing was sent or the connection became a WebSocket. */
  status: number
  way: Way
}

/** Tells the backend how each request was answered, and how long that took. */
export class Report {
  readonly #backend: EdgeBackend
  readonly #stopwatch: Stopwatch
  /** The way by which the requests come. */
  readonly way: Way

  constructor(backend: EdgeBackend, stopwatch: Stopwatch, way: Way = 'proxy') {
    this.#backend = backend
    this.#stopwatch = stopwatch
    this.way = way
  }

  /** Returns a report of requests that come by another way. */
  of(way: Way): Report {
    return new Report(this.#backend, this.#stopwatch, way)
  }

  /** Returns the time at which a request begins, for `end` and `endWhenSent`. */
  now(): number {
    return this.#stopwatch()
  }

  end(req: RequestHead, started: number, handled: Handled, status: number): void {
    const seconds = this.#stopwatch() - started
    this.#backend.answered(req, { ...handled, seconds, status, way: this.way })
  }

  /** Reports a page from memory at once, without the client's reading time, and anything else when it was sent. */
  endWhenSent(req: RequestHead, res: EdgeResponse, started: number, handled: Handled): void {
    const end = () => this.end(req, started, handled, res.headersSent ? res.statusCode : 0)
    if (handled.verdict === 'hit' || handled.verdict === 'stale' || res.closed) end()
    else res.on('close', end)
  }
}

type AccessLogged = 'renders' | 'all' | 'none'

/** Requests with these verdicts cost less than their log line would. */
const QUIET: ReadonlySet<Answered['verdict']> = new Set([
  'hit',
  'none; unknown-host',
  'none; bad-request',
  'none; https',
  'none; check',
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

/** Logs one line a request at `info`, without the query, which may contain secrets, and without the client. */
export function createAccessLog(
  log: Log,
  logged: AccessLogged,
): (req: RequestHead, answer: Answered) => void {
  if (logged === 'none') return () => {}
  return (req, { verdict, crawler, seconds }) => {
    if (logged === 'renders' && QUIET.has(verdict)) return
    const { method, headers, url = '' } = req
    const query = url.indexOf('?')
    const prerenderRequestId = frontRequestId(headers) ?? undefined
    log.info(
      {
        requestId: requestIdOf(req),
        prerenderRequestId,
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
