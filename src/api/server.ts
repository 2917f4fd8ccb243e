import Fastify from 'fastify'
import { serializerCompiler } from 'fastify-type-provider-zod'
import type pg from 'pg'

import { createLastUse } from '../accounts/last-use.ts'
import type { PlanCatalogue } from '../accounts/plans.ts'
import type { SignIn } from '../accounts/sign-in.ts'
import type { Vault } from '../certificates/vault.ts'
import type { ReadClient } from '../client-address.ts'
import type { Clock } from '../clock.ts'
import type { Queryable } from '../db/transaction.ts'
import type { EdgeTarget } from '../edge-target.ts'
import { type ClientLimits, createClientGate, NO_CLIENT_LIMITS } from '../http/client-gate.ts'
import type { Log } from '../log.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { Checks } from '../reach/checks.ts'
import { guardRoutes } from './access.ts'
import { answerError, answerErrors } from './answer-error.ts'
import type { ApiApp } from './app.ts'
import type { CaughtUp } from './caught-up.ts'
import { answerClientError } from './client-error.ts'
import { limitFailedAttempts } from './failed-attempts.ts'
import { createHttpServer, HEADER_LIMIT_BYTES } from './http-server.ts'
import { BODY_LIMIT_BYTES, readJsonBodies } from './json-body.ts'
import { describeRoutes } from './openapi.ts'
import type { CheckOrigin } from './origin-check.ts'
import { bot } from './routes/bot.ts'
import { cacheList } from './routes/cache-list.ts'
import { cachePurge } from './routes/cache-purge.ts'
import { cachePurgeAll } from './routes/cache-purge-all.ts'
import { cacheRefresh } from './routes/cache-refresh.ts'
import { cacheRefreshAll } from './routes/cache-refresh-all.ts'
import { cacheStats } from './routes/cache-stats.ts'
import { certificateDelete } from './routes/certificate-delete.ts'
import { certificateGet } from './routes/certificate-get.ts'
import { certificatePut } from './routes/certificate-put.ts'
import { dashboard } from './routes/dashboard.ts'
import { docs } from './routes/docs.ts'
import { domainCreate } from './routes/domain-create.ts'
import { domainDelete } from './routes/domain-delete.ts'
import { domainDns } from './routes/domain-dns.ts'
import { domainGet } from './routes/domain-get.ts'
import { domainList } from './routes/domain-list.ts'
import { domainRenders } from './routes/domain-renders.ts'
import { domainUpdate } from './routes/domain-update.ts'
import { events, type Subscribe } from './routes/events.ts'
import { healthz } from './routes/healthz.ts'
import { inspectionCreate } from './routes/inspection-create.ts'
import { inspectionGet } from './routes/inspection-get.ts'
import { type FindJob, jobGet } from './routes/job-get.ts'
import { keyCreate } from './routes/key-create.ts'
import { keyList } from './routes/key-list.ts'
import { keyRevoke } from './routes/key-revoke.ts'
import { link } from './routes/link.ts'
import { metrics, type ReadMetrics } from './routes/metrics.ts'
import { openApiDocument } from './routes/openapi-document.ts'
import { operatorAccounts } from './routes/operator-accounts.ts'
import { operatorNodes } from './routes/operator-nodes.ts'
import { operatorQueue } from './routes/operator-queue.ts'
import { middlewareUrl, type PageDoors, pageGet } from './routes/page-get.ts'
import { pageLens } from './routes/page-lens.ts'
import { pageList } from './routes/page-list.ts'
import { pagePurge } from './routes/page-purge.ts'
import { pageRefresh } from './routes/page-refresh.ts'
import { pageSource } from './routes/page-source.ts'
import { passwordChange } from './routes/password-change.ts'
import { passwordReset } from './routes/password-reset.ts'
import { planGet } from './routes/plan-get.ts'
import { type CheckReadiness, readiness } from './routes/readiness.ts'
import { renderOffer } from './routes/render-offer.ts'
import { sessionCreate } from './routes/session-create.ts'
import { sessionDelete } from './routes/session-delete.ts'
import { sessionEnd } from './routes/session-end.ts'
import { sessionGet } from './routes/session-get.ts'
import { sessionList } from './routes/session-list.ts'
import { tokenCreate } from './routes/token-create.ts'
import { tokenList } from './routes/token-list.ts'
import { tokenRevoke } from './routes/token-revoke.ts'
import { trafficGet } from './routes/traffic-get.ts'
import { trafficOfAccount } from './routes/traffic-of-account.ts'
import { trafficPaths } from './routes/traffic-paths.ts'
import { trafficRenders } from './routes/traffic-renders.ts'
import { warmCancel } from './routes/warm-cancel.ts'
import { warmChange } from './routes/warm-change.ts'
import { warmGet } from './routes/warm-get.ts'
import { warmStart } from './routes/warm-start.ts'
import { webhookRefresh } from './routes/webhook-refresh.ts'
import { sendSecurityHeaders, setSecurityHeaders } from './security-headers.ts'
import { checkAgainstSchema } from './validator.ts'
import { answerUnknownRoutes } from './wrong-method.ts'

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
