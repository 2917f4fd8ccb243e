import http from 'node:http'
import type { Duplex } from 'node:stream'

import { type ClientLimits, createClientGate, NO_CLIENT_LIMITS } from '../http/client-gate.ts'
import { toOriginForm } from '../http/origin-form.ts'
import type { DomainId, PagePath } from '../ids.ts'
import type { Held } from '../pages/invalidation.ts'
import { createPageCache } from '../pages/page-cache.ts'
import type { StoredEntry } from '../pages/stored-page.ts'
import { createCrawlerTest } from './crawler.ts'
import { createDomains, type DomainRow } from './domain.ts'
import { createDoors, type Doors } from './doors.ts'
import { createEdgeHandler, type EdgeDeps } from './handler.ts'
import { shareOrigins } from './origin-share.ts'
import { createPass, type OriginAgents } from './pass.ts'
import { pageMessage, refuseUpgrade, sendPlainPage } from './plain-page.ts'
import { prepareServed } from './served.ts'
import { createSitemaps, type SitemapDeps } from './sitemap.ts'
import { createTargets } from './target.ts'
import { createPassUpgrade } from './upgrade.ts'

/** What live traffic needs of the rest; bin/ supplies it from PostgreSQL, the queue and the gateway. */
export type EdgeParts = Pick<
  EdgeDeps,
  'clock' | 'log' | 'isOverQuota' | 'enqueueLive' | 'enqueueRefresh' | 'waitForJob' | 'noteAsked'
> &
  Pick<SitemapDeps, 'readSitemap' | 'storeSitemap' | 'namedInIndexes' | 'recordInSitemap'> & {
    agents: OriginAgents
    /** By lower-case name without port; null: nobody registered it. */
    domainByHost(host: string): Promise<DomainRow | null>
    readStored(domain: DomainId, path: PagePath): Promise<StoredEntry | null>
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
  /** What one client may hold at a time. Absent: nobody is limited. */
  clients?: ClientLimits
}

export type Edge = {
  /** Not yet listening. */
  server: http.Server
  /** For sites that keep their own front. */
  doors: Doors
  /** What it holds in memory: connect it with `invalidateOn`. */
  held: readonly Held[]
}

/** A connection without a request is closed after this time; a proxy in front of us keeps its own for a minute. */
const KEEP_ALIVE_MS = 65_000
/** Whoever takes longer to say what he wants is not a browser. */
const HEADERS_MS = 15_000
/** Node looks for those that have used up their time; every 30 s unless it is told so. */
const LOOKS_PER_LIMIT = 5

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
  const passOptions = {
    agents: parts.agents,
    answerWaitMs,
    idleMs,
    bodyLookMs,
    onFault: ({ error, ...fault }: { domain: string; page: string; error: Error }) =>
      log.warn({ err: error, ...fault }, 'an origin could not be reached'),
  }
  const gate = createClientGate(options.clients ?? NO_CLIENT_LIMITS)
  const crawlerOf = createCrawlerTest()
  const handlerDeps: EdgeDeps = {
    ...parts,
    findDomain: domains.find,
    targetOf: createTargets(),
    crawlerOf,
    pages,
    sitemaps: createSitemaps(parts),
    pass: shareOrigins(createPass(passOptions), gate.clientOf),
  }
  const handle = createEdgeHandler(handlerDeps, options)
  // Behind a door stands one site's front, which asks for all its visitors: it is not limited as one of them.
  const doors = createDoors(handlerDeps, passOptions, options)

  const passUpgrade = createPassUpgrade(passOptions)
  async function upgrade(req: http.IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    if (!toOriginForm(req)) return refuseUpgrade(socket, 'bad-request', 'none; bad-request')
    const domain = await domains.find(req.headers.host ?? '')
    if (domain === null) refuseUpgrade(socket, 'unknown-host', 'none; unknown-host')
    else
      passUpgrade(
        req,
        socket,
        head,
        domain,
        crawlerOf(req.headers['user-agent'], domain.crawlers) ? 'pass; method' : 'pass; not-a-crawler',
      )
  }

  const server = http.createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: headersMs,
    connectionsCheckingInterval: headersMs / LOOKS_PER_LIMIT,
    // Uploads may take as long as they move, see `body-pace.ts`.
    requestTimeout: 0,
    // `Upgrade: h2c` and the like are ignored, as anybody may (RFC 9110, section 7.8).
    shouldUpgradeCallback: (req) => req.headers.upgrade?.toLowerCase() === 'websocket',
  })
  // Whoever takes nothing of his answer for so long does not get the rest.
  server.setTimeout(idleMs)
  const admit: http.RequestListener = (req, res) => {
    if (gate.enter(req, res)) handle(req, res)
    else sendPlainPage(res, 'too-many-requests', 'none; too-many-requests')
  }
  gate.watch(server, pageMessage('too-many-connections', 'none; too-many-connections'))
  server.on('request', admit)
  // The origin says whether it wants the body.
  server.on('checkContinue', admit)
  server.on('upgrade', (req, socket, head) => {
    socket.on('error', () => socket.destroy())
    // All is said. Nobody reads on, so that the client's own end would never be seen.
    socket.on('finish', () => socket.destroy())
    // Who keeps a WebSocket open decides how long.
    req.socket.setTimeout(0)
    upgrade(req, socket, head).catch((error: Error) => {
      log.error({ err: error, host: req.headers.host }, 'a WebSocket could not be passed')
      refuseUpgrade(socket, 'unavailable', 'none; fault')
    })
  })
  return { server, doors, held: [domains.held, pages.held] }
}
