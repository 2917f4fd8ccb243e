import type pg from 'pg'
import type { Clock } from '../../src/clock.ts'
import type { Config } from '../../src/config.ts'
import type { DatabaseTimeouts } from '../../src/db/database-timeouts.ts'
import type { Listener } from '../../src/db/listener.ts'
import { createCrawlerRanges } from '../../src/edge/crawlers/crawler-ranges.ts'
import { createReverseDns } from '../../src/edge/crawlers/reverse-dns.ts'
import { createVerifyCrawler } from '../../src/edge/crawlers/verify-crawler.ts'
import { createEdge, type Edge } from '../../src/edge/edge.ts'
import { createAccessLog } from '../../src/edge/request/report.ts'
import { renewTicketKeys } from '../../src/edge/server/servers.ts'
import type { EdgeMetrics } from '../../src/insight/metrics/edge-metrics.ts'
import {
  CRAWLER_NAMES,
  createCrawlerNames,
  OTHER_CRAWLER,
} from '../../src/insight/traffic/crawler-numbers.ts'
import { createTraffic } from '../../src/insight/traffic/visit-counter.ts'
import type { Log } from '../../src/log.ts'
import type { AddressGuard } from '../../src/outbound/address-guard.ts'
import { createClient } from '../../src/outbound/client/pool.ts'
import { createFetchText } from '../../src/outbound/get.ts'
import type { JobWaiter } from '../../src/queue/jobs/await.ts'
import { createEnqueueLive, type EnqueueLive, enqueue } from '../../src/queue/jobs/enqueue.ts'
import { domainByHost } from '../../src/sites/domains.ts'
import { invalidateOn } from '../../src/store/invalidation.ts'
import { createAskedPaths, recordKnown } from '../../src/store/known-paths.ts'
import { createLastVisits } from '../../src/store/last-visits.ts'
import { pageId } from '../../src/store/page-id.ts'
import { readStored, readUnstored } from '../../src/store/stored-page.ts'
import { dropSitemap, namedInIndexes, readSitemap, storeSitemap } from '../../src/store/stored-sitemap.ts'

import type { Certificates } from './wire-certificates.ts'

/** The edge; its server does not listen yet. */
export function wireEdge(deps: {
  config: Config
  pool: pg.Pool
  timeouts: DatabaseTimeouts
  listener: Listener
  guard: AddressGuard
  /** null: it serves no TLS and answers no CA. */
  certificates: Certificates | null
  clock: Clock
  log: Log
  metrics: EdgeMetrics
  waiter: JobWaiter
  /** Of the worker of this node; null: it does not render. */
  enqueueLive: EnqueueLive | null
}): Pick<Edge, 'server' | 'secure' | 'endSessions' | 'doors'> & { close(): Promise<void> } {
  const { config, pool, listener, guard, certificates, clock, log, metrics, waiter, enqueueLive } = deps
  // With a time limit, for everything that a client waits for.
  const { db } = deps.timeouts
  const origins = createClient(guard)
  const accessLog = createAccessLog(log, config.accessLog)
  const traffic = createTraffic({ pool, clock, log })
  const asked = createAskedPaths({ db: pool, nowMs: clock.nowMs, log })
  const visits = createLastVisits({ pool, log })
  const crawlerNumber = createCrawlerNames()
  const ranges = createCrawlerRanges({
    dir: config.crawlers.verify ? config.crawlers.rangesDir : null,
    fetchText: createFetchText(origins),
    log,
  })
  void ranges.refresh()
  const reverseDns = createReverseDns()
  const { server, secure, endSessions, doors, held, pagesInMemory } = createEdge(
    {
      clock,
      log,
      origins,
      answered: (req, answer, res) => {
        metrics.answered(answer)
        traffic.count(req, answer, res)
        accessLog(req, answer)
      },
      verifyCrawler: config.crawlers.verify
        ? createVerifyCrawler({ clock, rangesOf: ranges.rangesOf, reverseDns })
        : null,
      tls: certificates?.tls ?? null,
      findChallenge: certificates?.findChallenge ?? null,
      connected: () => listener.connected,
      domainByHost: (host) => domainByHost(db, host),
      readStored: (page) => readStored(db, page),
      readUnstored: (domain, job) => readUnstored(db, domain, job),
      enqueueLive:
        enqueueLive ??
        createEnqueueLive({ db, pool, plans: config.plans, clock, liveWaitMs: config.edge.liveWaitMs }),
      enqueueRefresh: (page) => enqueue(pool, page.domain, [page.path], 'refresh'),
      waitForJob: waiter.wait,
      noteAsked: asked.note,
      noteVisit: visits.note,
      listedName: (userAgent) => {
        const number = crawlerNumber(userAgent)
        return number === OTHER_CRAWLER ? null : (CRAWLER_NAMES[number] ?? null)
      },
      readSitemap: (page) => readSitemap(db, page),
      storeSitemap: (page, sitemap) => storeSitemap(pool, page, sitemap),
      dropSitemap: (page, fetchedAtMs) => dropSitemap(pool, page, fetchedAtMs),
      namedInIndexes: (domain) => namedInIndexes(db, domain),
      recordInSitemap: (domain, paths) => {
        const known = paths.map((path) => pageId(domain, path))
        return recordKnown(pool, 'sitemap', known, clock.nowMs())
      },
    },
    {
      memoryBytes: config.edge.memoryBytes,
      liveWaitMs: config.edge.liveWaitMs,
      clients: config.clients,
    },
  )
  const tickets = secure === null ? null : renewTicketKeys(secure)
  invalidateOn(listener, certificates === null ? held : [...held, certificates.held])
  metrics.holds(pagesInMemory)
  return {
    server,
    secure,
    endSessions,
    doors,
    async close() {
      tickets?.close()
      ranges.close()
      waiter.close()
      await asked.close()
      await traffic.close()
      await visits.close()
      origins.close()
    },
  }
}
