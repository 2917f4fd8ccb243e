import { randomBytes } from 'node:crypto'
import type http from 'node:http'
import { systemStopwatch } from '../clock.ts'
import { createClientReader } from '../http/client-address.ts'
import { type ClientLimits, createClientGate, NO_CLIENT_LIMITS } from '../http/client-limits.ts'
import { toOriginForm } from '../http/origin-form.ts'
import { createRequestIds } from '../http/request-id.ts'
import type { DomainId, JobId } from '../ids.ts'
import type { OriginPool } from '../outbound/client/pool.ts'
import type { Held } from '../store/invalidation.ts'
import { createPageCache } from '../store/page-cache.ts'
import type { PageId } from '../store/page-id.ts'
import type { StoredEntry, StoredPage } from '../store/stored-page.ts'
import { createCrawlerTest } from './crawlers/crawler-test.ts'
import type { VerifyCrawler } from './crawlers/verify-crawler.ts'
import { createOriginShare } from './origin/origin-share.ts'
import { createPass, type FrontOf, type PassOptions } from './origin/pass.ts'
import { createPassUpgrade } from './origin/upgrade.ts'
import { type PlainPage, pageMessage, sendPlainPage } from './page/plain-page.ts'
import { prepareServed, prepareUnstored } from './page/prepared-page.ts'
import { createSitemaps, type SitemapDeps } from './page/send-sitemap.ts'
import { createDomains, type DomainRow } from './request/domain.ts'
import { createEdgeHandler, type EdgeDeps } from './request/handler.ts'
import { createDoors, type Doors } from './request/integrations.ts'
import { createReadyHit } from './request/ready-hit.ts'
import { createReport, type ReportDeps } from './request/report.ts'
import { createTargets } from './request/target.ts'
import type { NoVerdict, Verdict } from './request/verdict.ts'
import { createChallengeAnswer, type FindChallenge } from './server/challenge-answer.ts'
import { type Handshake, refuseHandshake } from './server/handshake.ts'
import { createEdgeServers, type EdgeServers, type EdgeTls } from './server/servers.ts'

/** What live traffic needs of the rest; bin/ supplies it from PostgreSQL, the queue and the gateway. */
export type EdgeParts = Pick<
  EdgeDeps,
  'clock' | 'log' | 'enqueueLive' | 'enqueueRefresh' | 'waitForJob' | 'noteAsked' | 'noteVisit' | 'listedName'
> &
  Pick<SitemapDeps, 'readSitemap' | 'storeSitemap' | 'dropSitemap' | 'namedInIndexes' | 'recordInSitemap'> & {
    origins: OriginPool
    /** Told of each live request. Absent: nobody is. */
    answered?: ReportDeps['answered']
    /** Certificates; absent: there is no TLS. */
    tls?: EdgeTls | null
    /** Proofs for a CA that asks on the plain port; absent: there are none. */
    findChallenge?: FindChallenge | null
    /** By lower-case name without port; null: nobody registered it. */
    domainByHost(host: string): Promise<DomainRow | null>
    readStored(page: PageId): Promise<StoredEntry | null>
    /** See `LiveRenderDeps.unstored`. */
    readUnstored(domain: DomainId, job: JobId): Promise<StoredPage | null>
    /** Absent: crawlers are believed who they say they are. */
    verifyCrawler?: VerifyCrawler | null
    /** Whether notifications about what is stored arrive at this moment. */
    connected(): boolean
  }

export type EdgeOptions = {
  /** Of pages and redirects in memory. */
  memoryBytes: number
  /** How long a crawler waits for a render. */
  liveWaitMs: number
  /** How long an origin may be silent before its answer begins. */
  answerWaitMs?: number
  /** And in the middle of it; server-sent events come seldom. A client may take nothing of it for so long. */
  idleMs?: number
  /** For a whole request head, from its connection or the answer before it on. */
  headersMs?: number
  /** How often the pace of a body is looked at. */
  bodyLookMs?: number
  /** A connection without a request is closed after this time. */
  keepAliveMs?: number
  /** What one client may hold at a time. Absent: nobody is limited. */
  clients?: ClientLimits
}

export type Edge = EdgeServers & {
  /** `plain`. */
  server: http.Server
  /** For sites that keep their own front. */
  doors: Doors
  /** What it holds in memory: connect it with `invalidateOn`. */
  held: readonly Held[]
  /** How much that is. */
  pagesInMemory(): { pages: number; bytes: number }
}

/** A connection without a request is closed after this time; a proxy in front of us keeps its own for a minute. */
const KEEP_ALIVE_MS = 65_000
/** Whoever takes longer to say what he wants is not a browser. */
const HEADERS_MS = 15_000

/** The whole edge around its handler: what is in memory, the ways to the origin, and the server. */
export function createEdge(parts: EdgeParts, options: EdgeOptions): Edge {
  const { log, connected } = parts
  const { answerWaitMs = 60_000, idleMs = 600_000, headersMs = HEADERS_MS, bodyLookMs = 10_000 } = options
  const domains = createDomains({ findDomain: parts.domainByHost, connected })
  const pages = createPageCache({
    limitBytes: options.memoryBytes,
    read: parts.readStored,
    prepare: prepareServed,
    connected,
  })
  const keepAliveMs = options.keepAliveMs ?? KEEP_ALIVE_MS
  const readClient = createClientReader(options.clients?.trustedProxies ?? [])
  const frontOf: FrontOf = (req, domain) => ({ ...readClient(req), host: req.headers.host ?? domain.name })
  const passOptions: PassOptions = {
    origins: parts.origins,
    answerWaitMs,
    idleMs,
    bodyLookMs,
    frontOf,
    onFault: ({ error, ...fault }) => {
      const reference = randomBytes(6).toString('hex')
      log.warn({ err: error, reference, ...fault }, 'an origin could not be reached')
      return reference
    },
  }
  const gate = createClientGate(options.clients ?? NO_CLIENT_LIMITS)
  const share = createOriginShare(gate.clientOf)
  const crawlerOf = createCrawlerTest()
  const report = createReport({
    crawlerOf,
    stopwatch: systemStopwatch,
    nameOf: createRequestIds(options.clients?.trustedProxies ?? []),
    answered: parts.answered ?? (() => {}),
  })
  const sitemaps = createSitemaps({ ...parts, get: { origins: parts.origins, userAgent: 'Prepaint' } })
  const handlerDeps: EdgeDeps = {
    ...parts,
    findDomain: domains.find,
    targetOf: createTargets(),
    crawlerOf,
    isInsecure: (req, domain) =>
      domain.httpsUntilMs > parts.clock.nowMs() && readClient(req).scheme === 'http',
    pages,
    unstored: async (domain, job) => {
      const page = await parts.readUnstored(domain, job)
      return page && prepareUnstored(page)
    },
    isForged: async (req, domain) => {
      const { address } = readClient(req)
      const standing = await parts.verifyCrawler?.(req.headers['user-agent'] ?? '', address, domain.account)
      return standing === 'forged'
    },
    sitemaps,
    pass: share.limit(createPass(passOptions)),
    frontOf,
    report,
  }
  const handle = createEdgeHandler(handlerDeps, options)
  const readyHit = createReadyHit(
    { ...handlerDeps, gate, domainInMemory: domains.inMemory, pageInMemory: pages.inMemory },
    { keepAliveMs },
  )
  // Behind a door stands one site's front, which asks for all its visitors: it is not limited as one of them.
  // That front is the client whose address is known here, and not the crawler.
  const doors = createDoors(
    { ...handlerDeps, isForged: () => false, isInsecure: () => false },
    passOptions,
    options,
  )

  const passUpgrade = createPassUpgrade(passOptions)
  /** `settled` is told how the handshake ended; a WebSocket itself is no request. */
  async function upgrade(
    handshake: Handshake,
    settled: (verdict: Verdict | NoVerdict) => void,
  ): Promise<void> {
    const { req, wire } = handshake
    const refuse = (page: PlainPage, verdict: Verdict | NoVerdict) => {
      refuseHandshake(handshake, page, verdict)
      settled(verdict)
    }
    // One of HTTP/1.1 has a connection of its own, which is counted; of these one connection could hold a hundred.
    if (req.httpVersion === '2.0' && !gate.enterTunnel(req, wire)) {
      return refuse('too-many-connections', 'none; too-many-connections')
    }
    if (!toOriginForm(req)) return refuse('bad-request', 'none; bad-request')
    const domain = await domains.find(req.headers.host ?? '')
    if (domain === null) return refuse('unknown-host', 'none; unknown-host')
    const crawler = crawlerOf(req.headers['user-agent'], domain.crawlers)
    const verdict = crawler ? 'pass; method' : 'pass; not-a-crawler'
    const leave = share.enter(req, domain)
    if (leave === null) return refuse('too-many-requests', verdict)
    try {
      passUpgrade(handshake, domain, verdict, () => {
        leave()
        settled(verdict)
      })
    } catch (error) {
      leave()
      throw error
    }
  }

  const answerChallenge = createChallengeAnswer(parts.findChallenge ?? null)
  const servers = createEdgeServers(
    {
      request(req, res) {
        if (gate.enter(req, res)) return answerChallenge(req, res, () => handle(req, res))
        const answered = report(req, res)
        sendPlainPage(res, 'too-many-requests', 'none; too-many-requests')
        answered('none; too-many-requests')
      },
      readyHit,
      upgrade(handshake) {
        const settled = once(report(handshake.req, null))
        upgrade(handshake, settled).catch((error: Error) => {
          log.error({ err: error, host: handshake.req.headers.host }, 'a WebSocket could not be passed')
          refuseHandshake(handshake, 'unavailable', 'none; fault')
          settled('none; fault')
        })
      },
    },
    parts.tls ?? null,
    { clock: parts.clock, headersMs, idleMs, keepAliveMs },
  )
  gate.watch(servers.plain, pageMessage('too-many-connections', 'none; too-many-connections'))
  if (servers.secure !== null) gate.watch(servers.secure, null)
  const endSessions = () => {
    servers.endSessions()
    passUpgrade.endAll()
  }
  return {
    server: servers.plain,
    ...servers,
    endSessions,
    doors,
    held: [domains.held, pages.held, sitemaps.held],
    pagesInMemory: () => ({ pages: pages.entries(), bytes: pages.bytes() }),
  }
}

function once<T>(tell: (what: T) => void): (what: T) => void {
  let told = false
  return (what) => {
    if (!told) tell(what)
    told = true
  }
}
