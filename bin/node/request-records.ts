import { crawlerNamed } from '@prepaint/contract/crawlers/known-crawlers.ts'
import type { DomainId } from '@prepaint/contract/ids.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import type { CheckArrival, CrawlerVisit } from '@prepaint/edge/backend.ts'
import { type Answered, createAccessLog } from '@prepaint/edge/request/report.ts'
import type { RequestHead } from '@prepaint/edge/server/exchange.ts'
import type { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import { RedirectUses } from '@prepaint/pages/site-files/stored-redirects.ts'
import { AskedPaths } from '@prepaint/pages/store/known-paths.ts'
import { LastVisits } from '@prepaint/pages/store/last-visits.ts'
import { VisitedNotices } from '@prepaint/pages/store/visited-notices.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { FrontEvidence } from '@prepaint/service/fronts/evidence.ts'
import type { EdgeMetrics } from '@prepaint/service/insight/metrics/edge-metrics.ts'
import { Compliance } from '@prepaint/service/insight/traffic/compliance.ts'
import { UnrecognisedClients } from '@prepaint/service/insight/traffic/unrecognised.ts'
import { TrafficCounter } from '@prepaint/service/insight/traffic/visit-counter.ts'
import type pg from 'pg'
import type { Config } from '../settings/config.ts'
import type { RequestRecorder } from './edge-backend.ts'

/** What a node keeps of its edge's requests: access log, metrics, traffic, and what crawlers asked for. */
export class RequestRecords implements RequestRecorder {
  readonly #metrics: EdgeMetrics
  readonly #accessLog: (request: RequestHead, answer: Answered) => void
  readonly #visited: VisitedNotices
  readonly #traffic: TrafficCounter
  readonly #compliance: Compliance
  readonly #unrecognised: UnrecognisedClients
  readonly #askedPaths: AskedPaths
  readonly #lastVisits: LastVisits
  readonly #redirectUses: RedirectUses
  readonly #fronts: FrontEvidence
  #answeredAtOnce = 0

  constructor(
    pool: pg.Pool,
    robots: RobotsFiles,
    metrics: EdgeMetrics,
    fronts: FrontEvidence,
    logged: Config['accessLog'],
    clock: Clock,
    log: Log,
  ) {
    this.#metrics = metrics
    this.#accessLog = createAccessLog(log, logged)
    this.#visited = new VisitedNotices(pool, log)
    this.#traffic = new TrafficCounter(pool, this.#visited, clock, log)
    this.#compliance = new Compliance(pool, robots, clock, log)
    this.#unrecognised = new UnrecognisedClients(pool, clock, log)
    this.#askedPaths = new AskedPaths(pool, clock, log)
    this.#lastVisits = new LastVisits(pool, this.#visited, log)
    this.#redirectUses = new RedirectUses(pool, log)
    this.#fronts = fronts
  }

  /** Requests so far that waited for no render. */
  get answeredAtOnce(): number {
    return this.#answeredAtOnce
  }

  answered(request: RequestHead, answer: Answered): void {
    const { verdict, domain, crawler, automatic } = answer
    const userAgent = request.headers['user-agent'] ?? ''
    if (verdict !== 'rendered') this.#answeredAtOnce++
    this.#metrics.answered(answer)
    const isVisit = this.#traffic.count(request, answer)
    if (domain !== null && automatic !== undefined) this.#unrecognised.note(domain, automatic, userAgent)
    if (isVisit && domain !== null && crawler !== null) {
      this.#compliance.note(domain, crawler, userAgent, request.url ?? '/')
    }
    this.#noteWay(request, answer)
    this.#accessLog(request, answer)
  }

  /** Our renderer, which comes through some fronts as a crawler, is none. */
  #noteWay({ headers, url = '/' }: RequestHead, { verdict, domain, crawler, page, way }: Answered): void {
    if (domain === null || crawler === null || verdict === 'pass; loop') return
    const path = page?.path ?? url
    this.#fronts.noteVisit({
      domain: domain.id,
      way,
      crawler: crawlerNamed(headers['user-agent']),
      path,
      headers,
    })
  }

  receiveCheck(domain: DomainId, token: string, arrival: CheckArrival): Promise<string | null> {
    return this.#fronts.receiveCheck(token, { domain, ...arrival })
  }

  noteAsked(page: PageId): void {
    this.#askedPaths.note(page)
  }

  noteVisit(visit: CrawlerVisit): void {
    this.#lastVisits.note(visit)
  }

  noteRedirect(domain: DomainId, name: string, atMs: number): void {
    this.#redirectUses.note(domain, name, atMs)
  }

  noteRefused(budget: string): void {
    this.#metrics.refused(budget)
  }

  /** Writes what is not yet in the database. */
  async close(): Promise<void> {
    await this.#askedPaths.close()
    await this.#traffic.close()
    await this.#compliance.close()
    await this.#unrecognised.close()
    await this.#lastVisits.close()
    await this.#visited.close()
    await this.#redirectUses.flush()
  }
}
