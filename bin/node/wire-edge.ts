import { CrawlerRanges } from '@prepaint/edge/crawlers/crawler-ranges.ts'
import { checkReverseDns } from '@prepaint/edge/crawlers/reverse-dns.ts'
import { CrawlerVerifier } from '@prepaint/edge/crawlers/verify-crawler.ts'
import { createEdge, type Edge } from '@prepaint/edge/edge.ts'
import { createAccessLog } from '@prepaint/edge/request/report.ts'
import { renewTicketKeys } from '@prepaint/edge/server/servers.ts'
import { type AddressGuard, createFetchText, type OpenOriginHeaders } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { Converter } from '@prepaint/pages/forms/converter.ts'
import type { JobWaiter } from '@prepaint/pages/queue/jobs/await.ts'
import { createEnqueueLive, type EnqueueLive } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import { RedirectUses } from '@prepaint/pages/site-files/stored-redirects.ts'
import { AskedPaths } from '@prepaint/pages/store/known-paths.ts'
import { LastVisits } from '@prepaint/pages/store/last-visits.ts'
import type { DatabaseTimeouts } from '@prepaint/postgres/database-timeouts.ts'
import type { Listener } from '@prepaint/postgres/listener.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { invalidateOn } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { EdgeMetrics } from '@prepaint/service/insight/metrics/edge-metrics.ts'
import { Compliance } from '@prepaint/service/insight/traffic/compliance.ts'
import { UnrecognisedClients } from '@prepaint/service/insight/traffic/unrecognised.ts'
import { TrafficCounter } from '@prepaint/service/insight/traffic/visit-counter.ts'
import type pg from 'pg'
import type { Config } from '../settings/config.ts'
import { NodeBackend } from './edge-backend.ts'
import type { Certificates } from './wire-certificates.ts'

export function wireEdge(deps: {
  config: Config
  pool: pg.Pool
  /** Limits the time of queries that clients wait for. */
  timeouts: DatabaseTimeouts
  listener: Listener
  guard: AddressGuard
  /** Null: no TLS, and no responses to the CA. */
  certificates: Certificates | null
  clock: Clock
  log: Log
  metrics: EdgeMetrics
  openHeaders: OpenOriginHeaders
  waiter: JobWaiter
  enqueueLive: EnqueueLive | null
}): Pick<Edge, 'server' | 'secure' | 'endSessions' | 'integrations'> & {
  robots: RobotsFiles
  /** Live requests so far that waited for no render. */
  answeredAtOnce(): number
  close(): Promise<void>
} {
  const { config, pool, listener, certificates, clock, log, metrics, waiter } = deps
  const { memoryBytes, liveWaitMs } = config.edge
  const { db } = deps.timeouts
  const origins = createClient(deps.guard)
  const accessLog = createAccessLog(log, config.accessLog)
  const traffic = new TrafficCounter(pool, clock, log)
  const knownPaths = new AskedPaths(pool, clock, log)
  const lastVisits = new LastVisits(pool, log)
  const redirectUses = new RedirectUses(pool, log)
  const { verify, rangesDir } = config.crawlers
  const fetchText = createFetchText(origins)
  const ranges = new CrawlerRanges(verify ? rangesDir : null, fetchText, log)
  void ranges.refresh()
  const crawlers = new CrawlerVerifier(clock, (owner) => ranges.rangesOf(owner), checkReverseDns)
  let answeredAtOnce = 0
  const get = { origins, userAgent: 'Prepaint' }
  const robots = new RobotsFiles({ db, pool, get, openHeaders: deps.openHeaders, clock, log })
  const compliance = new Compliance(pool, robots, clock, log)
  const unrecognised = new UnrecognisedClients(pool, clock, log)
  const backend = new NodeBackend({
    clock,
    log,
    db,
    pool,
    changes: listener,
    enqueueLive: deps.enqueueLive ?? createEnqueueLive({ db, pool, plans: config.plans, clock, liveWaitMs }),
    waiter,
    openHeaders: deps.openHeaders,
    robots,
    converter: new Converter(),
    knownPaths,
    lastVisits,
    redirectUses,
    answered(request, answer) {
      if (answer.verdict !== 'rendered') answeredAtOnce++
      metrics.answered(answer)
      const isVisit = traffic.count(request, answer)
      const { domain, crawler, automatic } = answer
      if (domain !== null && automatic !== undefined) {
        unrecognised.note(domain, automatic, request.headers['user-agent'] ?? '')
      }
      if (isVisit && domain !== null && crawler !== null) {
        compliance.note(domain, crawler, request.headers['user-agent'] ?? '', request.url ?? '/')
      }
      accessLog(request, answer)
    },
  })
  const edge = createEdge(
    backend,
    {
      clock,
      log,
      origins,
      verifyCrawler: verify ? (...asked) => crawlers.verify(...asked) : null,
      tls: certificates?.tls ?? null,
      findChallenge: certificates?.findChallenge ?? null,
    },
    { memoryBytes, liveWaitMs, clients: config.clients },
  )
  const { server, secure, endSessions, integrations } = edge
  const tickets = secure === null ? null : renewTicketKeys(secure)
  if (certificates !== null) invalidateOn(listener, [certificates.held])
  metrics.holds(edge.pagesInMemory)
  return {
    server,
    secure,
    endSessions,
    integrations,
    robots,
    answeredAtOnce: () => answeredAtOnce,
    async close() {
      tickets?.close()
      ranges.close()
      waiter.close()
      await knownPaths.close()
      await traffic.close()
      await compliance.close()
      await unrecognised.close()
      await lastVisits.close()
      await redirectUses.flush()
      origins.close()
    },
  }
}
