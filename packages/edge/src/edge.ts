import { randomBytes } from 'node:crypto'
import type http from 'node:http'
import { handledAs } from '@prepaint/contract/outcome/verdict.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import type { GetOptions, OpenOriginHeaders } from '@prepaint/outbound'
import type { OriginPool } from '@prepaint/outbound/client'
import { Converter } from '@prepaint/pages/forms/converter.ts'
import type { JobWaiter } from '@prepaint/pages/queue/jobs/await.ts'
import type { EnqueueLive } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import type { RedirectUses } from '@prepaint/pages/site-files/stored-redirects.ts'
import { type AskedPaths, recordKnown } from '@prepaint/pages/store/known-paths.ts'
import type { LastVisits } from '@prepaint/pages/store/last-visits.ts'
import { createStoredReader } from '@prepaint/pages/store/stored-page.ts'
import {
  dropSitemap,
  namedInIndexes,
  readSitemap,
  storeSitemap,
} from '@prepaint/pages/store/stored-sitemap.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { type Clock, systemStopwatch } from '@prepaint/runtime/clock.ts'
import { createClientReader, type ReadClient } from '@prepaint/runtime/http/client-address.ts'
import {
  type ClientLimits,
  createClientGate,
  NO_CLIENT_LIMITS,
} from '@prepaint/runtime/http/client-limits.ts'
import { createRequestIds } from '@prepaint/runtime/http/request-id.ts'
import type { Held, Notifications } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { createCrawlerTest } from './crawlers/crawler-test.ts'
import type { VerifyCrawler } from './crawlers/verify-crawler.ts'
import { createOriginShare } from './origin/origin-share.ts'
import { createPass, type PassOptions } from './origin/pass.ts'
import { WebSockets } from './origin/upgrade.ts'
import { createPageCache } from './page/page-cache.ts'
import { PageForms } from './page/page-forms.ts'
import { pageMessage, sendPlainPage } from './page/plain-page.ts'
import { prepareServed } from './page/prepared-page.ts'
import { createSitemaps } from './page/send-sitemap.ts'
import { createDomains } from './request/domain.ts'
import { EdgeHandler, type Entrance, type HandlerParts } from './request/handler.ts'
import { createHandshakeHandler } from './request/handshake.ts'
import { createIntegrations, type Integrations } from './request/integrations.ts'
import { LiveRenders } from './request/live-render.ts'
import { OwnAnswers } from './request/own-answers.ts'
import { createFastHit } from './request/ready-hit.ts'
import { type Answered, Report } from './request/report.ts'
import { Targets } from './request/target.ts'
import { VisitRecorder } from './request/visit-recorder.ts'
import { createChallengeAnswer, type FindChallenge } from './server/challenge-answer.ts'
import type { EdgeRequest, EdgeResponse, RequestHead } from './server/exchange.ts'
import { createEdgeServers, type EdgeServers, type EdgeTls } from './server/servers.ts'

export type EdgeParts = {
  clock: Clock
  log: Log
  /** For queries that requests wait for; has time limits. */
  db: Queryable
  /** For background writes. */
  pool: Queryable
  notifications: Pick<Notifications, 'connected'>
  origins: OriginPool
  openHeaders?: OpenOriginHeaders
  enqueueLive: EnqueueLive
  waiter: Pick<JobWaiter, 'wait'>
  knownPaths: Pick<AskedPaths, 'note'>
  lastVisits: Pick<LastVisits, 'note'>
  redirectUses: Pick<RedirectUses, 'note'>
  verifyCrawler: VerifyCrawler | null
  answered(req: RequestHead, answer: Answered): void
  tls: EdgeTls | null
  /** ACME proofs on the plain port; null: none. */
  findChallenge: FindChallenge | null
}

export type EdgeOptions = {
  memoryBytes: number
  liveWaitMs: number
  /** Longest silence of an origin before its response. */
  answerWaitMs?: number
  /** Longest silence of an origin within its response, and of a client that does not read. */
  idleMs?: number
  /** For a whole request head, from the connection or the previous response on. */
  headersMs?: number
  bodyLookMs?: number
  /** For making Markdown or a card; then the answer is HTML. */
  conversionMs?: number
  keepAliveMs?: number
  clients?: ClientLimits
}

export type Edge = EdgeServers & {
  server: http.Server
  integrations: Integrations
  /** Caches to pass to `invalidateOn`. */
  held: readonly Held[]
  robots: RobotsFiles
  pagesInMemory(): { pages: number; bytes: number }
}

/** Above the keep-alive time of proxies in front of us (60 s). */
const KEEP_ALIVE_MS = 65_000
/** No browser takes longer to send a request head. */
const HEADERS_MS = 15_000
const ANSWER_WAIT_MS = 60_000
/** Server-sent events may be minutes apart. */
const IDLE_MS = 600_000
const BODY_LOOK_MS = 10_000

export function createEdge(parts: EdgeParts, options: EdgeOptions): Edge {
  const { idleMs = IDLE_MS, headersMs = HEADERS_MS, keepAliveMs = KEEP_ALIVE_MS } = options
  const clients = options.clients ?? NO_CLIENT_LIMITS
  const gate = createClientGate(clients)
  const share = createOriginShare(gate.clientOf)
  const readClient = createClientReader(clients.trustedProxies)
  const passOptions = createPassOptions(parts, options, readClient)
  const webSockets = new WebSockets(passOptions)
  const entrance = createEntrance(parts, readClient, passOptions)
  const get = { origins: parts.origins, userAgent: 'Prepaint' }
  const robots = new RobotsFiles({ ...parts, get })
  const handlerParts = createHandlerParts({ ...parts, get, robots }, options, clients)
  const { report, domains, pages, sitemaps } = handlerParts

  // A front requests for all visitors, so it has no client limit.
  const integrations = createIntegrations(handlerParts, entrance, passOptions)
  const limited = { ...entrance, pass: share.limit(entrance.pass) }
  const handler = new EdgeHandler(handlerParts, limited)
  const answerChallenge = createChallengeAnswer(parts.findChallenge)
  const servers = createEdgeServers(
    {
      request(req, res) {
        if (gate.enter(req, res)) answerChallenge(req, res, () => handler.handle(req, res))
        else refuseRequest(report, req, res)
      },
      readyHit: createFastHit({ ...handlerParts, gate }, limited),
      upgrade: createHandshakeHandler({ ...handlerParts, share, webSockets }, limited),
    },
    parts.tls,
    { clock: parts.clock, headersMs, idleMs, keepAliveMs },
  )
  gate.watch(servers.plain, pageMessage('too-many-connections', 'none; too-many-connections'))
  if (servers.secure !== null) gate.watch(servers.secure, null)
  return {
    server: servers.plain,
    ...servers,
    endSessions() {
      servers.endSessions()
      webSockets.disconnectAll()
    },
    integrations,
    held: [domains.held, pages.held, sitemaps.held],
    robots,
    pagesInMemory: () => ({ pages: pages.entries(), bytes: pages.bytes() }),
  }
}

function refuseRequest(report: Report, req: EdgeRequest, res: EdgeResponse): void {
  const started = report.begin(req)
  sendPlainPage(res, 'too-many-requests', 'none; too-many-requests')
  report.endWhenSent(req, res, started, handledAs('none; too-many-requests'))
}

function createPassOptions(
  { origins, log }: EdgeParts,
  options: EdgeOptions,
  readClient: ReadClient,
): PassOptions {
  return {
    origins,
    answerWaitMs: options.answerWaitMs ?? ANSWER_WAIT_MS,
    idleMs: options.idleMs ?? IDLE_MS,
    bodyLookMs: options.bodyLookMs ?? BODY_LOOK_MS,
    frontOf: (req, domain) => ({ ...readClient(req), host: req.headers.host ?? domain.name }),
    onFault({ error, ...fault }) {
      const reference = randomBytes(6).toString('hex')
      log.warn({ err: error, reference, ...fault }, 'an origin could not be reached')
      return reference
    },
  }
}

function createEntrance(
  { clock, verifyCrawler }: EdgeParts,
  readClient: ReadClient,
  passOptions: PassOptions,
): Entrance {
  return {
    categoryOf: createCrawlerTest(),
    isInsecure: (req, domain) => domain.httpsUntilMs > clock.nowMs() && readClient(req).scheme === 'http',
    async isForged(req, domain) {
      const userAgent = req.headers['user-agent'] ?? ''
      return (await verifyCrawler?.(userAgent, readClient(req).address, domain.account)) === 'forged'
    },
    frontOf: passOptions.frontOf,
    pass: createPass(passOptions),
    servesOwnAnswers: true,
  }
}

function createHandlerParts(
  parts: EdgeParts & { get: GetOptions; robots: RobotsFiles },
  options: EdgeOptions,
  clients: ClientLimits,
): HandlerParts {
  const { clock, log, db, pool, get, robots, notifications } = parts
  const connected = () => notifications.connected
  const pages = createPageCache({
    limitBytes: options.memoryBytes,
    read: createStoredReader(db),
    prepare: prepareServed,
    connected,
  })
  const { enqueueLive, waiter, knownPaths, lastVisits, answered } = parts
  return {
    clock,
    log,
    domains: createDomains({ db, connected, openHeaders: parts.openHeaders }),
    targets: new Targets(),
    pages,
    sitemaps: createSitemaps({
      get,
      clock,
      log,
      readSitemap: (page) => readSitemap(db, page),
      storeSitemap: (page, sitemap) => storeSitemap(pool, page, sitemap),
      dropSitemap: (page, fetchedAtMs) => dropSitemap(pool, page, fetchedAtMs),
      namedInIndexes: (domain) => namedInIndexes(db, domain),
      ownRobots: ({ files }) => files.robots.text ?? '',
      recordInSitemap: (domain, paths) => {
        const known = paths.map((path) => pageId(domain, path))
        return recordKnown(pool, 'sitemap', known, clock.nowMs())
      },
    }),
    ownAnswers: new OwnAnswers({ clock, log, redirectUses: parts.redirectUses, robots, db }),
    liveRenders: new LiveRenders({ log, db, pages, waiter, enqueueLive, liveWaitMs: options.liveWaitMs }),
    forms: new PageForms({ log, db, pool, pages, converter: new Converter(options.conversionMs) }),
    recorder: new VisitRecorder({ log, pool, knownPaths, lastVisits }),
    report: new Report({
      stopwatch: systemStopwatch,
      idOf: createRequestIds(clients.trustedProxies),
      answered,
    }),
  }
}
