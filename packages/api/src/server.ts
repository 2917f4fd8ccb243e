import { randomUUID } from 'node:crypto'
import cookies from '@fastify/cookie'
import { ClientGate } from '@prepaint/runtime/http/client-limits.ts'
import { LastUse } from '@prepaint/service/accounts/last-use.ts'
import { FrontAccountIds } from '@prepaint/service/fronts/front-secret.ts'
import Fastify from 'fastify'
import { serializerCompiler } from 'fastify-type-provider-zod'
import { audit } from './account/audit.ts'
import { branding } from './account/branding.ts'
import { email } from './account/email.ts'
import { links } from './account/links.ts'
import { invitations, members } from './account/members.ts'
import { ownAccount } from './account/own-account.ts'
import { passwords } from './account/passwords.ts'
import { plan } from './account/plan.ts'
import { policy, secondFactor, signInSteps } from './account/second-factor.ts'
import { keys, tokens } from './account/secrets.ts'
import { sessions } from './account/sessions.ts'
import { shareLinks } from './account/share-links.ts'
import { singleSignOn } from './account/single-sign-on.ts'
import { cache } from './cache/cache.ts'
import { renderJobs } from './cache/jobs.ts'
import { warms } from './cache/warm.ts'
import { webhook } from './cache/webhook.ts'
import { certificates } from './domains/certificate.ts'
import { checklist } from './domains/checklist.ts'
import { devices } from './domains/devices.ts'
import { dns } from './domains/dns.ts'
import { domains } from './domains/domains.ts'
import { egress } from './domains/egress.ts'
import { proof } from './domains/proof.ts'
import { renders } from './domains/renders.ts'
import { ruleTries } from './domains/rule-tries.ts'
import { frontState } from './fronts/front-state.ts'
import { integrations } from './fronts/integration.ts'
import { MiddlewareForm } from './fronts/middleware-form.ts'
import { siteToken } from './fronts/site-token.ts'
import { guardRoutes } from './http/access.ts'
import type { ApiApp, ApiOptions, ApiParts } from './http/app.ts'
import { handleErrors, refuseUnknownRoutes, sendClientError, sendError } from './http/errors.ts'
import { FailedAttempts, limitFailedAttempts, SHARE_FAILURES, SHARE_LINKS } from './http/failed-attempts.ts'
import { HeavyWork } from './http/heavy-work.ts'
import {
  BODY_LIMIT_BYTES,
  createHttpServer,
  HEADER_LIMIT_BYTES,
  readJsonBodies,
  sendSecurityHeaders,
  setSecurityHeaders,
} from './http/http-server.ts'
import { KnownRoutes } from './http/known-routes.ts'
import { describeRoutes } from './http/openapi.ts'
import { checkAgainstSchema, NO_COMPILERS } from './http/validation.ts'
import { endpoints, notifications } from './notifications/notifications.ts'
import { unsubscribePage } from './notifications/unsubscribe.ts'
import { operatorAccounts } from './operator/accounts.ts'
import { operatorNodes } from './operator/nodes.ts'
import { operatorQueue } from './operator/queue.ts'
import { inspections } from './pages/inspection.ts'
import { pages } from './pages/pages.ts'
import { bulk } from './portfolio/bulk.ts'
import { imports } from './portfolio/import.ts'
import { portfolio } from './portfolio/portfolio.ts'
import { tags } from './portfolio/tags.ts'
import { templates } from './portfolio/templates.ts'
import { reports } from './reports/monthly.ts'
import { bot } from './service/bot.ts'
import { DASHBOARD_DIR, dashboard, findDashboard, missingPageOf } from './service/dashboard.ts'
import { docs } from './service/docs.ts'
import { events } from './service/events.ts'
import { health } from './service/health.ts'
import { installation } from './service/installation.ts'
import { siteFiles } from './site-files/site-files.ts'
import { traffic } from './traffic/traffic.ts'

/** Not listening yet. Hooks run in registration order: headers, unknown routes, access, body, route. */
export async function createApiServer(parts: ApiParts, options: ApiOptions): Promise<ApiApp> {
  const gate = new ClientGate(options.clients)
  const failures = new FailedAttempts(gate, parts.clock, options.clients.failures)
  const shareFailures = new FailedAttempts(gate, parts.clock, SHARE_FAILURES.most, SHARE_FAILURES)
  const routes = new KnownRoutes()
  const lastUse = new LastUse(parts.pool, parts.clock, parts.log)
  const accountIds = new FrontAccountIds(parts.accessDb)
  const middlewareForm = new MiddlewareForm(
    { ...parts, gate, routes, failures, lastUse, accountIds },
    options.plans,
  )
  const app: ApiApp = Fastify({
    logger: false,
    genReqId: () => randomUUID(),
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: (listener) => createHttpServer(listener, gate, middlewareForm),
    // `close()` runs after draining. Node would wait for connections that never carried a request.
    forceCloseConnections: true,
    schemaController: { compilersFactory: NO_COMPILERS },
    routerOptions: { maxParamLength: HEADER_LIMIT_BYTES },
    clientErrorHandler: sendClientError,
    frameworkErrors: (error, request, reply) => {
      setSecurityHeaders(reply)
      sendError(error, request, reply, parts.log)
    },
  })

  app.setValidatorCompiler(checkAgainstSchema)
  app.setSerializerCompiler(serializerCompiler)

  app.addHook('preClose', async () => middlewareForm.close())
  app.addHook('onClose', () => lastUse.settled())

  sendSecurityHeaders(app)
  handleErrors(app, parts.log)
  const built = findDashboard(options.dashboardDir ?? DASHBOARD_DIR)
  refuseUnknownRoutes(app, routes, missingPageOf(built))
  await app.register(cookies)
  limitFailedAttempts(app, failures)
  limitFailedAttempts(app, shareFailures, SHARE_LINKS)
  guardRoutes(app, parts, lastUse, options)
  readJsonBodies(app)
  app.decorate('heavyWork', new HeavyWork())
  const readDocument = describeRoutes(app, options)

  // Resources of an account, by API key or session.
  domains(app, parts, options) // /api/domains, /api/domains/:domain
  portfolio(app, parts, options) // /api/portfolio
  tags(app, parts) // /api/tags, /api/domains/:domain/tags
  templates(app, parts) // /api/templates, /api/templates/:id/preview
  bulk(app, parts, options) // /api/bulk
  imports(app, parts, options) // /api/domains/import
  checklist(app, parts) // /api/domains/:domain/checklist
  devices(app, parts) // /api/domains/:domain/devices, .../devices/check
  dns(app, parts, options) // /api/domains/check, /api/domains/:domain/dns, /api/dns, /api/dns/check
  egress(app, options) // /api/egress
  proof(app, parts) // /api/domains/:domain/proof, .../proof/check
  certificates(app, parts) // /api/domains/:domain/certificate
  renders(app, parts) // /api/domains/:domain/renders
  ruleTries(app, parts) // /api/domains/:domain/rules/try
  pages(app, parts) // /api/domains/:domain/pages, .../pages/purge, .../pages/refresh, .../pages/rerender
  inspections(app, parts) // /api/domains/:domain/pages/details, .../pages/source, /api/domains/:domain/inspections
  warms(app, parts, options) // /api/domains/:domain/warm
  cache(app, parts) // /api/cache/list, stats, purge, purge-all, refresh, refresh-all
  renderJobs(app, parts) // /api/jobs/:jobId
  siteFiles(app, parts, options) // /api/domains/:domain/redirects, robots, versions, indexnow
  traffic(app, parts, options) // /api/traffic, /api/traffic/domains, /api/domains/:domain/traffic, .../compliance
  reports(app, parts) // /api/reports/monthly
  plan(app, parts) // /api/plan
  notifications(app, parts) // /api/incidents, /api/notifications, /api/report
  endpoints(app, parts) // /api/endpoints, /api/deliveries/:id/replay
  unsubscribePage(app, parts) // /unsubscribe/:token
  events(app, parts) // /api/events, /api/operator/events

  // By webhook token.
  webhook(app, parts, options) // /api/webhook/refresh

  // Pages for crawlers, asked for by a site's own server or CDN.
  integrations(app, parts, middlewareForm) // /page/:url, /api/render

  // The dashboard: sign-in, and what only sessions may do.
  sessions(app, parts, options) // /api/session, /api/sessions, /api/accounts, /api/person
  singleSignOn(app, parts, options) // /api/session/sso, /sign-in/sso/callback
  signInSteps(app, parts, options) // /api/session/second-factor, passkey, confirm
  secondFactor(app, parts, options) // /api/second-factor, /api/passkeys
  policy(app, parts) // /api/account/policy
  passwords(app, parts, options) // /api/password, /api/password-reset
  email(app, parts, options) // /api/person/email
  links(app, parts, options) // /api/links/read, /api/links/use
  members(app, parts) // /api/members, /api/account/transfer
  invitations(app, parts, options) // /api/invitations
  ownAccount(app, parts, options) // /api/account, its export and deletion, DELETE /api/person
  branding(app, parts) // /api/account/branding, its logo, /logos/:key
  audit(app, parts) // /api/audit
  keys(app, parts, options) // /api/keys
  shareLinks(app, parts, options) // /api/share-links, /api/shared
  frontState(app, parts) // /api/domains/:domain/integration, .../integration/check
  siteToken(app, parts) // /api/domains/:domain/site-token
  tokens(app, parts, options) // /api/domains/:domain/tokens, /api/tokens/:id
  dashboard(app, built) // /, its pages and files, /docs

  operatorAccounts(app, parts, options) // /api/operator/accounts, persons, invitations
  operatorNodes(app, parts) // /api/operator/nodes
  operatorQueue(app, parts) // /api/operator/queue, jobs, failures

  // Without authentication.
  installation(app, parts) // /api/installation
  health(app, parts) // /healthz, /readyz, /metrics
  docs(app, readDocument) // /openapi.json
  bot(app, options) // /bot

  await app.ready()
  return app
}
