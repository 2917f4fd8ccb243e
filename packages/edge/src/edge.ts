import { randomBytes } from 'node:crypto'
import type http from 'node:http'
import type { OriginPool } from '@prepaint/outbound/client'
import { type Clock, systemStopwatch } from '@prepaint/runtime/clock.ts'
import { createClientReader, type ReadClient } from '@prepaint/runtime/http/client-address.ts'
import { ClientGate, type ClientLimits, NO_CLIENT_LIMITS } from '@prepaint/runtime/http/client-limits.ts'
import { ClientPauses } from '@prepaint/runtime/http/client-pauses.ts'
import { RequestIds } from '@prepaint/runtime/http/request-id.ts'
import { invalidateOn } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { EdgeBackend } from './backend.ts'
import { CrawlerTest } from './crawlers/crawler-test.ts'
import type { VerifyCrawler } from './crawlers/verify-crawler.ts'
import { OriginShare } from './origin/origin-share.ts'
import { createPass, type PassOptions } from './origin/pass.ts'
import { WebSockets } from './origin/upgrade.ts'
import { PageCache } from './page/page-cache.ts'
import { PageForms } from './page/page-forms.ts'
import { pageMessage, sendPlainPage } from './page/plain-page.ts'
import { prepareServed, versionOf } from './page/prepared-page.ts'
import { Sitemaps } from './page/send-sitemap.ts'
import { Domains } from './request/domain.ts'
import { EdgeHandler, type Entrance, type HandlerParts } from './request/handler.ts'
import { createHandshakeHandler } from './request/handshake.ts'
import { InstallationChecks } from './request/installation-checks.ts'
import { createIntegrations, type Integrations } from './request/integrations.ts'
import { LiveRenders } from './request/live-render.ts'
import { OwnAnswers } from './request/own-answers.ts'
import { createFastHit } from './request/ready-hit.ts'
import { Report } from './request/report.ts'
import { Targets } from './request/target.ts'
import { VisitRecorder } from './request/visit-recorder.ts'
import { createChallengeAnswer, type FindChallenge } from './server/challenge-answer.ts'
import { CLIENT_BUDGETS, type ClientBudget, ClientBudgets } from './server/client-budgets.ts'
import { createEdgeServers, type EdgeServers, type EdgeTls } from './server/servers.ts'

export type EdgeParts = {
  clock: Clock
  log: Log
  origins: OriginPool
  /** Null takes crawlers for what they say they are. */
  verifyCrawler: VerifyCrawler | null
  tls: EdgeTls | null
  /** Finds ACME proofs for the plain port; null if the node orders no certificates. */
  findChallenge: FindChallenge | null
}

export type EdgeOptions = {
  memoryBytes: number
  liveWaitMs: number
  /** An origin may be silent this long before its response. */
  answerWaitMs?: number
  /** An origin may be silent this long within its response, and a client may read nothing this long. */
  idleMs?: number
  /** Limits the time for a whole request head, from the connection or the previous response on. */
  headersMs?: number
  bodyLookMs?: number
  keepAliveMs?: number
  /** A client may neither take what waits for it nor send anything this long. */
  stuckMs?: number
  clients?: ClientLimits
  /** Lower budgets than those of `CLIENT_BUDGETS`. */
  budgets?: Partial<Record<ClientBudget, number>>
}

export type Edge = EdgeServers & {
  server: http.Server
  integrations: Integrations
  /** `reads`: requests that found their page there. */
  pagesInMemory(): { pages: number; bytes: number; reads: number }
  domainsInMemory(): number
}

/** Above the keep-alive time of proxies in front of us (60 s). */
const KEEP_ALIVE_MS = 65_000
/** No browser takes longer to send a request head. */
const HEADERS_MS = 15_000
const ANSWER_WAIT_MS = 60_000
/** Server-sent events may be minutes apart. */
const IDLE_MS = 600_000
const BODY_LOOK_MS = 10_000
const STUCK_MS = 60_000

/** Makes the servers; call `listen` on them. The edge hears of changes by `backend.changes` from now on. */
export function createEdge(backend: EdgeBackend, parts: EdgeParts, options: EdgeOptions): Edge {
  const {
    idleMs = IDLE_MS,
    headersMs = HEADERS_MS,
    keepAliveMs = KEEP_ALIVE_MS,
    stuckMs = STUCK_MS,
  } = options
  const clients = options.clients ?? NO_CLIENT_LIMITS
  const pauses = new ClientPauses(parts.clock)
  const gate = new ClientGate(clients, pauses)
  const budgets = new ClientBudgets(gate, pauses, parts.clock, (budget) => backend.noteRefused(budget), {
    ...CLIENT_BUDGETS,
    ...options.budgets,
  })
  const share = new OriginShare((req) => gate.clientOf(req))
  const readClient = createClientReader(clients.trustedProxies)
  const passOptions = createPassOptions(parts, options, readClient)
  const webSockets = new WebSockets(passOptions)
  const entrance = createEntrance(parts, readClient, passOptions)
  const handlerParts = createHandlerParts(backend, parts, options, clients)
  const { domains, pages, sitemaps } = handlerParts

  // A front requests for all visitors, so it has no client limit.
  const integrations = createIntegrations(handlerParts, entrance, passOptions)
  const limited = { ...entrance, pass: share.limit(entrance.pass), budgets }
  const handler = new EdgeHandler(handlerParts, limited)
  const answerChallenge = createChallengeAnswer(parts.findChallenge)
  const servers = createEdgeServers(
    {
      budgetsOf: (socket) => budgets.ofConnection(socket),
      request(req, res, isNoHit = false) {
        if (!gate.enter(req, res)) handler.refuseWithPage(req, res)
        else if (!budgets.enter(req, res)) handler.refuseOverBudget(req, res)
        else answerChallenge(req, res, () => handler.handle(req, res, isNoHit))
      },
      readyHit: createFastHit(handlerParts, limited, gate),
      upgrade: createHandshakeHandler(handlerParts, limited, share, webSockets),
    },
    parts.tls,
    { clock: parts.clock, headersMs, idleMs, keepAliveMs, stuckMs },
  )
  gate.watch(servers.plain, pageMessage('too-many-connections', 'none; too-many-connections'))
  if (servers.secure !== null) gate.watch(servers.secure, null)
  invalidateOn(backend.changes, [domains.held, pages.held, sitemaps.held])
  return {
    server: servers.plain,
    ...servers,
    endSessions() {
      servers.endSessions()
      webSockets.disconnectAll()
    },
    integrations,
    pagesInMemory: () => ({ pages: pages.entries, bytes: pages.bytes, reads: pages.reads }),
    domainsInMemory: () => domains.size,
  }
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
    sendOwn: sendPlainPage,
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
  const crawlerTest = new CrawlerTest()
  return {
    categoryOf: (userAgent, own) => crawlerTest.categoryOf(userAgent, own),
    automaticOf: (userAgent, own) => crawlerTest.automaticOf(userAgent, own),
    isInsecure: (req, domain) => domain.httpsUntilMs > clock.nowMs() && readClient(req).scheme === 'http',
    async isForged(req, domain) {
      const userAgent = req.headers['user-agent'] ?? ''
      return (await verifyCrawler?.(userAgent, readClient(req).address, domain.account)) === 'forged'
    },
    frontOf: passOptions.frontOf,
    pass: createPass(passOptions),
    sendOwn: passOptions.sendOwn,
    servesOwnAnswers: true,
    budgets: null,
  }
}

function createHandlerParts(
  backend: EdgeBackend,
  { clock, log, origins }: EdgeParts,
  { memoryBytes, liveWaitMs }: EdgeOptions,
  clients: ClientLimits,
): HandlerParts {
  const pages = new PageCache({
    limitBytes: memoryBytes,
    read: (...asked) => backend.readPage(...asked),
    readAgain: (...asked) => backend.readPageAgain(...asked),
    versionOf,
    prepare: prepareServed,
    connected: () => backend.changes.connected,
    isAway: () => backend.isAway,
  })
  return {
    clock,
    log,
    domains: new Domains(backend),
    targets: new Targets(),
    pages,
    sitemaps: new Sitemaps(backend.sitemaps, { origins, userAgent: 'Prepaint' }, clock, log),
    installationChecks: new InstallationChecks(backend, log, 'proxy'),
    ownAnswers: new OwnAnswers(backend, clock, log),
    liveRenders: new LiveRenders(backend, pages, log, { liveWaitMs }),
    forms: new PageForms(backend, pages, log),
    recorder: new VisitRecorder(backend, log),
    receiveProofMark: (mark) => backend.receiveProofMark(mark),
    requestIds: new RequestIds(clients.trustedProxies),
    report: new Report(backend, systemStopwatch),
  }
}
