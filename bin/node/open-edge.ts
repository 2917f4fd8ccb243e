import { CrawlerRanges } from '@prepaint/edge/crawlers/crawler-ranges.ts'
import { checkReverseDns } from '@prepaint/edge/crawlers/reverse-dns.ts'
import { CrawlerVerifier } from '@prepaint/edge/crawlers/verify-crawler.ts'
import { createEdge, type Edge } from '@prepaint/edge/edge.ts'
import { type AddressGuard, createFetchText, type OpenOriginHeaders } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { Converter } from '@prepaint/pages/forms/converter.ts'
import { PageForms } from '@prepaint/pages/forms/stored-form.ts'
import type { JobWaiter } from '@prepaint/pages/queue/jobs/await.ts'
import { createEnqueueLive, type EnqueueLive } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import type { BodyStore } from '@prepaint/pages/store/bodies/body-store.ts'
import type { Availability } from '@prepaint/postgres/availability.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import type { Listener } from '@prepaint/postgres/listener.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { invalidateOn } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { findHttpChallenge } from '@prepaint/service/certificates/acme/challenge.ts'
import { Contexts } from '@prepaint/service/certificates/contexts.ts'
import { readServedCertificate } from '@prepaint/service/certificates/stored-certificate.ts'
import type { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { FrontEvidence } from '@prepaint/service/fronts/evidence.ts'
import type { BodyMetrics } from '@prepaint/service/insight/metrics/body-metrics.ts'
import type { EdgeMetrics } from '@prepaint/service/insight/metrics/edge-metrics.ts'
import { findAnswer } from '@prepaint/service/sites/reachability/published-answer.ts'
import type pg from 'pg'
import type { Config } from '../settings/config.ts'
import { NodeBackend } from './edge-backend.ts'
import type { Outage } from './outage.ts'
import { RequestRecords } from './request-records.ts'

/** The edge of a process. A node that is only an API has it too, without ports: integrations ask it for pages. */
export type OpenEdge = {
  edge: Edge
  robots: RobotsFiles
  records: RequestRecords
  fronts: FrontEvidence
  close(): Promise<void>
}

export type OpenEdgeParts = {
  pool: pg.Pool
  availability: Availability
  bodies: BodyStore
  outage: Outage
  clock: Clock
  listener: Listener
  guard: AddressGuard
  vault: Vault
  openHeaders: OpenOriginHeaders
  metrics: EdgeMetrics
  bodyMetrics: BodyMetrics
  /** Is null if no bodies are kept on disk. */
  disk: { readonly bytes: number } | null
  waiter: JobWaiter
  /** Returns null where no renders run in this process. */
  findEnqueueLive(): EnqueueLive | null
  log: Log
}

/** Opens no port: call `listen` on the servers of the edge. Without the role `edge`, it serves no TLS. */
export function openEdge(config: Config, parts: OpenEdgeParts): OpenEdge {
  const { plans, clients, accessLog, crawlers } = config
  const { memoryBytes, liveWaitMs } = config.edge
  const { pool, availability, bodies, outage, clock, listener, guard, openHeaders, metrics, waiter, log } =
    parts
  const { db, reads } = availability
  const contexts = config.roles.has('edge') ? createContexts(parts) : null
  const enqueueOnly = createEnqueueLive(db, pool, plans, clock, liveWaitMs)
  const enqueueLive: EnqueueLive = (...live) =>
    availability.whileThere(() => (parts.findEnqueueLive() ?? enqueueOnly)(...live))
  const origins = createClient(guard)
  const get = { origins, userAgent: 'Prepaint' }
  const robots = new RobotsFiles(db, pool, get, openHeaders, clock, log)
  const fronts = new FrontEvidence(pool, db, listener, clock, log)
  const records = new RequestRecords(pool, robots, metrics, fronts, accessLog, clock, log)
  const forms = new PageForms(reads, pool, new Converter(), bodies, log)
  const backend = new NodeBackend(
    reads,
    db,
    availability.pool,
    bodies,
    listener,
    openHeaders,
    enqueueLive,
    waiter,
    forms,
    robots,
    records,
    outage,
    clock,
  )

  const rangesDir = crawlers.verify ? crawlers.rangesDir : null
  const ranges = new CrawlerRanges(rangesDir, createFetchText(origins), log)
  void ranges.refresh()
  const verifier = new CrawlerVerifier(clock, (owner) => ranges.rangesOf(owner), checkReverseDns)
  const edge = createEdge(
    backend,
    {
      clock,
      log,
      origins,
      verifyCrawler: crawlers.verify ? (...asked) => verifier.verify(...asked) : null,
      tls: contexts,
      // Finds what this fleet has published under `/.well-known/acme-challenge/`, for a CA or for its own checks.
      findChallenge:
        contexts === null
          ? null
          : async (host, token) => (await findHttpChallenge(db, host, token)) ?? findAnswer(db, host, token),
    },
    { memoryBytes, liveWaitMs, clients },
  )
  metrics.holds(() => ({ ...edge.pagesInMemory(), diskBytes: parts.disk?.bytes ?? 0 }))
  parts.bodyMetrics.countsMemory(() => edge.pagesInMemory().reads)
  return {
    edge,
    robots,
    records,
    fronts,
    async close() {
      ranges.close()
      waiter.close()
      await records.close()
      await fronts.close()
      origins.close()
    },
  }
}

/** With the look-ups of domains this leaves a connection to reads of pages, however many names handshakes ask for. */
const READING_CERTIFICATES = 1

/** The certificates of domains, for connections to the edge's TLS port. */
function createContexts({ availability, outage, listener, vault, clock, log }: OpenEdgeParts): Contexts {
  const read = joined(
    ([name]: readonly string[]) =>
      readServedCertificate(availability.reads, name!).then((certificate) => [certificate]),
    { most: 1, underWay: READING_CERTIFICATES },
  )
  const sources = {
    read,
    readKept: (name: string) => outage.keptCertificate(name),
    get isConnected() {
      return listener.connected
    },
    get isAway() {
      return outage.isAway
    },
  }
  const contexts = new Contexts(sources, vault, clock, log)
  invalidateOn(listener, [contexts.held])
  return contexts
}
