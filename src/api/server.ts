import Fastify from 'fastify'
import { serializerCompiler } from 'fastify-type-provider-zod'
import type pg from 'pg'

import { createLastUse } from '../accounts/last-use.ts'
import type { PlanCatalogue } from '../accounts/plans.ts'
import type { SignIn } from '../accounts/sign-in/sign-in.ts'
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
import { type FindJob, jobGet } from './cache/jobs.ts'
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
  /** Where keys and tokens are looked up; absent: in the pool. */
  accessDb?: Queryable
  plans: PlanCatalogue
  clock: Clock
  log: Log
  checkOrigin: CheckOrigin
  checkReadiness: CheckReadiness
  findJob: FindJob
  caughtUp: CaughtUp
  doors: PageDoors
  signIn: SignIn
  /** Absent: no mail is sent. */
  mailer?: Pick<Mailer, 'send'>
  /** Looks at names and origins for owners. Absent: this server does not look. */
  checks?: Checks
  /** Live figures of an account, or of the fleet. Absent: this server tells none. */
  subscribe?: Subscribe
  /** Who asks, behind proxies that are trusted. */
  readClient: ReadClient
  /** Seals the keys of certificates. */
  vault: Vault
  /** Absent: this server tells none. */
  readMetrics?: ReadMetrics
}

export type ApiOptions = {
  version: string
  /** Base address shown to users; null: relative to wherever the document was read. */
  publicUrl: string | null
  /** What one client may hold at a time, and fail at. Absent: nobody is limited. */
  clients?: ClientLimits & { failures: number }
  /** Where the DNS of domains is to lead. Absent or null: nobody has said it. */
  edgeTarget?: EdgeTarget | null
  /** Shown at `/bot`: an e-mail address or a URL; null: nobody is named. */
  contact: string | null
  /** What `GET /metrics` asks for; null or absent: that the request comes from this machine. */
  metricsToken?: string | null
  /** Where the built dashboard lies. Absent: where `npm run build` puts it. */
  dashboardDir?: string
}

/**
 * The HTTP interface, ready to listen. The order of what is registered first
 * is the order in which a request meets it: headers, unknown routes, access,
 * and only then its body and its route.
 */
export async function createApiServer(deps: ApiDeps, options: ApiOptions): Promise<ApiApp> {
  const gate = createClientGate(options.clients ?? NO_CLIENT_LIMITS)
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
  limitFailedAttempts(app, { clientOf: gate.clientOf, clock: deps.clock, most: options.clients?.failures })
  guardRoutes(app, {
    ...deps,
    pool: deps.accessDb ?? deps.pool,
    lastUse,
    operatorToken: options.metricsToken ?? null,
  })
  readJsonBodies(app)
  await describeRoutes(app, options)

  // Every route that there is.
  domainList(app, deps)
  domainCreate(app, deps)
  domainGet(app, deps)
  domainDns(app, deps, options)
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
  passwordReset(app, deps, options)
  link(app, deps)
  keyList(app, deps)
  keyCreate(app, deps)
  keyRevoke(app, deps)
  tokenList(app, deps)
  tokenCreate(app, deps)
  tokenRevoke(app, deps)
  events(app, deps)
  operatorQueue(app, deps)
  operatorAccounts(app, { ...deps, publicUrl: options.publicUrl })
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
  bot(app, options)
  dashboard(app, options)

  await app.ready()
  return app
}
