import type pg from 'pg'

import { domainByHost } from '../src/accounts/domain-by-host.ts'
import type { Clock } from '../src/clock.ts'
import type { Config } from '../src/config.ts'
import type { Listener } from '../src/db/listener.ts'
import type { Patience } from '../src/db/patience.ts'
import { createAccessLog } from '../src/edge/access-log.ts'
import { createCrawlerRanges } from '../src/edge/crawler-ranges.ts'
import { createEdge, type Edge } from '../src/edge/edge.ts'
import { createFetchText } from '../src/edge/fetch-text.ts'
import { createReverseDns } from '../src/edge/reverse-dns.ts'
import { renewTicketKeys } from '../src/edge/ticket-keys.ts'
import { createVerifyCrawler } from '../src/edge/verify-crawler.ts'
import type { AddressGuard } from '../src/gateway/address-guard.ts'
import { createGuardedAgents } from '../src/gateway/guarded-agents.ts'
import type { Log } from '../src/log.ts'
import type { EdgeMetrics } from '../src/metrics/edge-metrics.ts'
import { invalidateOn } from '../src/pages/invalidation.ts'
import { createAskedPaths, recordKnown } from '../src/pages/known-paths.ts'
import { createLastVisits } from '../src/pages/last-visits.ts'
import { readStored } from '../src/pages/stored-page.ts'
import { dropSitemap, namedInIndexes, readSitemap, storeSitemap } from '../src/pages/stored-sitemap.ts'
import type { JobWaiter } from '../src/queue/await.ts'
import { enqueue } from '../src/queue/enqueue.ts'
import { createEnqueueLive, type EnqueueLive } from '../src/queue/enqueue-within-quota.ts'
import { readUnstored } from '../src/queue/unstored.ts'
import { createTraffic } from '../src/traffic/counter.ts'
import { CRAWLER_NAMES, createCrawlerNames, OTHER_CRAWLER } from '../src/traffic/crawler-name.ts'

import type { Certificates } from './wire-certificates.ts'

/** The edge on PostgreSQL, the queue and guarded connections; its server does not listen yet, and its doors are for the API. */
export function wireEdge(deps: {
  config: Config
  pool: pg.Pool
  patience: Patience
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
  // What a crawler or a person waits for; all else has the time that it takes.
  const { db } = deps.patience
  const agents = createGuardedAgents(guard)
  const accessLog = createAccessLog(log, config.accessLog)
  const traffic = createTraffic({ pool, clock, log })
  const asked = createAskedPaths({ db: pool, nowMs: clock.nowMs, log })
  const visits = createLastVisits({ pool, log })
  const crawlerNumber = createCrawlerNames()
  const ranges = createCrawlerRanges({
    dir: config.crawlers.verify ? config.crawlers.rangesDir : null,
    fetchText: createFetchText(agents),
    log,
  })
  void ranges.refresh()
  const reverseDns = createReverseDns()
  const { server, secure, endSessions, doors, held, pagesInMemory } = createEdge(
    {
      clock,
      log,
      agents,
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
      readStored: (domain, path) => readStored(db, domain, path),
      readUnstored: (domain, job) => readUnstored(db, domain, job),
      enqueueLive: enqueueLive ?? createEnqueueLive({ db, pool, plans: config.plans, clock }),
      enqueueRefresh: (domain, path) => enqueue(pool, domain, [path], 'refresh'),
      waitForJob: waiter.wait,
      noteAsked: asked.note,
      noteVisit: visits.note,
      listedName: (userAgent) => {
        const number = crawlerNumber(userAgent)
        return number === OTHER_CRAWLER ? null : (CRAWLER_NAMES[number] ?? null)
      },
      readSitemap: (domain, path) => readSitemap(db, domain, path),
      storeSitemap: (domain, path, sitemap) => storeSitemap(pool, domain, path, sitemap),
      dropSitemap: (domain, path, fetchedAtMs) => dropSitemap(pool, domain, path, fetchedAtMs),
      namedInIndexes: (domain) => namedInIndexes(db, domain),
      recordInSitemap: (domain, paths) => {
        const known = paths.map((path) => ({ domain, path }))
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
      agents.close()
    },
  }
}
