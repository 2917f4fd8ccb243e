import Fastify from 'fastify'
import { serializerCompiler } from 'fastify-type-provider-zod'
import type pg from 'pg'

import { createLastUse } from '../accounts/last-use.ts'
import type { PlanCatalogue } from '../accounts/plans.ts'
import type { Vault } from '../certificates/vault/vault.ts'
import type { Clock } from '../clock.ts'
import type { EdgeTarget } from '../config.ts'
import type { Queryable } from '../db/transaction.ts'
import type { ReadClient } from '../http/client-address.ts'
import { type ClientLimits, createClientGate, NO_CLIENT_LIMITS } from '../http/client-limits.ts'
import type { Log } from '../log.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { Checks } from '../sites/reachability/checks.ts'
import { link } from './account/link.ts'
import { passwordChange, passwordReset } from './account/passwords.ts'
import { planGet } from './account/plan.ts'
import { sessionCreate, sessionDelete, sessionEnd, sessionGet, sessionList } from './account/sessions.ts'
import { jobGet } from './cache/jobs.ts'
import { cacheList, cacheStats } from './cache/list.ts'
import { cachePurge, cachePurgeAll } from './cache/purge.ts'
import { cacheRefresh, cacheRefreshAll } from './cache/refresh.ts'
import { warmCancel, warmChange, warmGet, warmStart } from './cache/warm.ts'
import { webhookRefresh } from './cache/webhook.ts'
import { certificateDelete, certificateGet, certificatePut } from './domains/certificate.ts'
import { domainDns } from './domains/dns.ts'
import { domainCreate, domainDelete, domainGet, domainList, domainUpdate } from './domains/domains.ts'
import { domainRenders } from './domains/renders.ts'
import { guardRoutes } from './http/access.ts'
import type { ApiApp, CaughtUp, CheckOrigin } from './http/app.ts'
import { answerClientError, answerError, answerErrors, answerUnknownRoutes } from './http/errors.ts'
import { limitFailedAttempts } from './http/failed-attempts.ts'
import {
  BODY_LIMIT_BYTES,
  createHttpServer,
  HEADER_LIMIT_BYTES,
  readJsonBodies,
  sendSecurityHeaders,
  setSecurityHeaders,
} from './http/http-server.ts'
import { describeRoutes } from './http/openapi.ts'
import { checkAgainstSchema } from './http/validation.ts'
import { operatorAccounts } from './operator/accounts.ts'
import { operatorNodes } from './operator/nodes.ts'
import { operatorQueue } from './operator/queue.ts'
import { pagePurge, pageRefresh } from './pages/change.ts'
import { inspectionCreate, inspectionGet, pageLens } from './pages/inspection.ts'
import { middlewareUrl, type PageDoors, pageGet, renderOffer } from './pages/integration.ts'
import { pageList } from './pages/list.ts'
import { pageSource } from './pages/source.ts'
import { keyCreate, keyList, keyRevoke } from './secrets/keys.ts'
import { tokenCreate, tokenList, tokenRevoke } from './secrets/tokens.ts'
import { bot } from './service/bot.ts'
import { dashboard } from './service/dashboard.ts'
import { docs, openApiDocument } from './service/docs.ts'
import { events, type Subscribe } from './service/events.ts'
import { type CheckReadiness, healthz, metrics, type ReadMetrics, readiness } from './service/health.ts'
import { trafficGet, trafficOfAccount, trafficPaths, trafficRenders } from './traffic/traffic.ts'

export type ApiDeps = {
  pool: pg.Pool
  /** Where keys, tokens and sessions are looked up. Absent: in the pool. */
  accessDb?: Queryable
  plans: PlanCatalogue
  clock: Clock
  log: Log
  checkOrigin: CheckOrigin
  checkReadiness: CheckReadiness
  caughtUp: CaughtUp
  doors: PageDoors
  /** Absent: no mail is sent. */
  mailer?: Pick<Mailer, 'send'>
  /** Checks names and origins for owners. Absent: this server does not check. */
  checks?: Checks
  /** Live updates of an account, or of the fleet. Absent: there are none. */
  subscribe?: Subscribe
  /** The client of a request, behind trusted proxies. */
  readClient: ReadClient
  /** Encrypts the keys of certificates. */
  vault: Vault
  /** Absent: there are no metrics. */
  readMetrics?: ReadMetrics
  version: string
  /** Base address shown to users; null: relative to where the document was read. */
  publicUrl: string | null
  /** Limits for each client IP. Absent: there are none. */
  clients?: ClientLimits & { failures: number }
  /** Where the DNS records of domains must point. Absent or null: not configured. */
  edgeTarget?: EdgeTarget | null
  /** Shown at `/bot`: an e-mail address or a URL; null: none. */
  contact: string | null
  /** What `GET /metrics` requires; null or absent: a request from this machine. */
  metricsToken?: string | null
  /** The built dashboard. Absent: where `npm run build` puts it. */
  dashboardDir?: string
}

/**
 * The HTTP interface, ready to listen. The order of what is registered first
 * is the order in which a request meets it: headers, unknown routes, access,
 * and only then its body and its route.
 */
export async function createApiServer(deps: ApiDeps): Promise<ApiApp> {
  const gate = createClientGate(deps.clients ?? NO_CLIENT_LIMITS)
  const app: ApiApp = Fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: (answer) => createHttpServer(answer, gate),
    // `close()` cuts off what is still under way: whoever ends the node has let it drain before. (An idle
    // connection that never carried a request does not count as idle to Node, and would hold up the end.)
    forceCloseConnections: true,
    routerOptions: { maxParamLength: HEADER_LIMIT_BYTES },
    rewriteUrl: ({ url = '' }) => middlewareUrl(url),
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      setSecurityHeaders(reply)
      answerError(error, request, reply, deps.log)
    },
  })
  app.setValidatorCompiler(checkAgainstSchema)
  app.setSerializerCompiler(serializerCompiler)

  const lastUse = createLastUse(deps.pool, deps.clock, deps.log)
  app.addHook('onClose', () => lastUse.settled())

  sendSecurityHeaders(app)
  answerErrors(app, deps.log)
  answerUnknownRoutes(app)
  limitFailedAttempts(app, { clientOf: gate.clientOf, clock: deps.clock, most: deps.clients?.failures })
  guardRoutes(app, {
    ...deps,
    pool: deps.accessDb ?? deps.pool,
    lastUse,
    operatorToken: deps.metricsToken ?? null,
  })
  readJsonBodies(app)
  await describeRoutes(app, deps)

  // Every route that there is.
  domainList(app, deps)
  domainCreate(app, deps)
  domainGet(app, deps)
  domainDns(app, deps, deps)
  domainUpdate(app, deps)
  domainDelete(app, deps)
  domainRenders(app, deps)
  trafficGet(app, deps)
  trafficPaths(app, deps)
  trafficRenders(app, deps)
  trafficOfAccount(app, deps)
  planGet(app, deps)
  certificateGet(app, deps)
  certificatePut(app, deps)
  certificateDelete(app, deps)
  cacheList(app, deps)
  cacheStats(app, deps)
  cachePurge(app, deps)
  cachePurgeAll(app, deps)
  cacheRefresh(app, deps)
  cacheRefreshAll(app, deps)
  warmGet(app, deps)
  warmStart(app, deps)
  warmChange(app, deps)
  warmCancel(app, deps)
  webhookRefresh(app, deps)
  jobGet(app, deps)
  sessionCreate(app, deps)
  sessionGet(app)
  sessionDelete(app, deps)
  sessionList(app, deps)
  sessionEnd(app, deps)
  passwordChange(app, deps)
  passwordReset(app, deps)
  link(app, deps)
  keyList(app, deps)
  keyCreate(app, deps)
  keyRevoke(app, deps)
  tokenList(app, deps)
  tokenCreate(app, deps)
  tokenRevoke(app, deps)
  events(app, deps)
  operatorQueue(app, deps)
  operatorAccounts(app, deps)
  operatorNodes(app, deps)
  pageGet(app, deps)
  pageList(app, deps)
  pagePurge(app, deps)
  pageRefresh(app, deps)
  pageLens(app, deps)
  pageSource(app, deps)
  inspectionCreate(app, deps)
  inspectionGet(app, deps)
  renderOffer(app, deps)
  healthz(app)
  readiness(app, deps)
  metrics(app, deps)
  openApiDocument(app)
  docs(app)
  bot(app, deps)
  dashboard(app, deps)

  await app.ready()
  return app
}
