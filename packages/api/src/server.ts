import { ClientGate, NO_CLIENT_LIMITS } from '@prepaint/runtime/http/client-limits.ts'
import { LastUse } from '@prepaint/service/accounts/last-use.ts'
import Fastify from 'fastify'
import { serializerCompiler } from 'fastify-type-provider-zod'
import { links } from './account/links.ts'
import { passwords } from './account/passwords.ts'
import { plan } from './account/plan.ts'
import { keys, tokens } from './account/secrets.ts'
import { sessions } from './account/sessions.ts'
import { cache } from './cache/cache.ts'
import { renderJobs } from './cache/jobs.ts'
import { warms } from './cache/warm.ts'
import { webhook } from './cache/webhook.ts'
import { certificates } from './domains/certificate.ts'
import { devices } from './domains/devices.ts'
import { dns } from './domains/dns.ts'
import { domains } from './domains/domains.ts'
import { egress } from './domains/egress.ts'
import { renders } from './domains/renders.ts'
import { ruleTries } from './domains/rule-tries.ts'
import { guardRoutes } from './http/access.ts'
import type { ApiApp, ApiDeps } from './http/app.ts'
import { handleErrors, refuseUnknownRoutes, sendClientError, sendError } from './http/errors.ts'
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
import { endpoints, notifications } from './notifications/notifications.ts'
import { unsubscribePage } from './notifications/unsubscribe.ts'
import { operatorAccounts } from './operator/accounts.ts'
import { operatorNodes } from './operator/nodes.ts'
import { operatorQueue } from './operator/queue.ts'
import { inspections } from './pages/inspection.ts'
import { integrations, middlewareUrl } from './pages/integration.ts'
import { pages } from './pages/pages.ts'
import { bot } from './service/bot.ts'
import { dashboard } from './service/dashboard.ts'
import { docs } from './service/docs.ts'
import { events } from './service/events.ts'
import { health } from './service/health.ts'
import { siteFiles } from './site-files/site-files.ts'
import { traffic } from './traffic/traffic.ts'

/** Not listening yet. Hooks run in registration order: headers, unknown routes, access, body, route. */
export async function createApiServer(deps: ApiDeps): Promise<ApiApp> {
  const gate = new ClientGate(deps.clients ?? NO_CLIENT_LIMITS)
  const app: ApiApp = Fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: (listener) => createHttpServer(listener, gate),
    // `close()` runs after draining. Node would wait for connections that never carried a request.
    forceCloseConnections: true,
    routerOptions: { maxParamLength: HEADER_LIMIT_BYTES },
    rewriteUrl: ({ url = '' }) => middlewareUrl(url),
    clientErrorHandler: sendClientError,
    frameworkErrors: (error, request, reply) => {
      setSecurityHeaders(reply)
      sendError(error, request, reply, deps.log)
    },
  })
  app.setValidatorCompiler(checkAgainstSchema)
  app.setSerializerCompiler(serializerCompiler)

  const lastUse = new LastUse(deps.pool, deps.clock, deps.log)
  app.addHook('onClose', () => lastUse.settled())

  sendSecurityHeaders(app)
  handleErrors(app, deps.log)
  refuseUnknownRoutes(app)
  limitFailedAttempts(app, {
    clientOf: (request) => gate.clientOf(request),
    clock: deps.clock,
    most: deps.clients?.failures,
  })
  guardRoutes(app, {
    ...deps,
    pool: deps.accessDb ?? deps.pool,
    lastUse,
    operatorToken: deps.metricsToken ?? null,
  })
  readJsonBodies(app)
  await describeRoutes(app, deps)

  // Resources of an account, by API key or session.
  domains(app, deps) // /api/domains, /api/domains/:domain
  devices(app, deps) // /api/domains/:domain/devices, .../devices/check
  dns(app, deps) // /api/domains/check, /api/domains/:domain/dns
  egress(app, deps) // /api/egress
  certificates(app, deps) // /api/domains/:domain/certificate
  renders(app, deps) // /api/domains/:domain/renders
  ruleTries(app, deps) // /api/domains/:domain/rules/try
  pages(app, deps) // /api/domains/:domain/pages, .../pages/purge, .../pages/refresh
  inspections(app, deps) // /api/domains/:domain/pages/details, .../pages/source, /api/domains/:domain/inspections
  warms(app, deps) // /api/domains/:domain/warm
  cache(app, deps) // /api/cache/list, stats, purge, purge-all, refresh, refresh-all
  renderJobs(app, deps) // /api/jobs/:jobId
  siteFiles(app, deps) // /api/domains/:domain/redirects, robots, versions, indexnow
  traffic(app, deps) // /api/traffic, /api/traffic/domains, /api/domains/:domain/traffic, .../compliance
  plan(app, deps) // /api/plan
  notifications(app, deps) // /api/incidents, /api/notifications, /api/report
  endpoints(app, deps) // /api/endpoints, /api/deliveries/:id/replay
  unsubscribePage(app, deps) // /unsubscribe/:token
  events(app, deps) // /api/events, /api/operator/events

  // By webhook token.
  webhook(app, deps) // /api/webhook/refresh

  // Pages for crawlers, asked for by a site's own server or CDN.
  integrations(app, deps) // /page/:url, /api/render

  // The dashboard: sign-in, and what only sessions may do.
  sessions(app, deps) // /api/session, /api/sessions
  passwords(app, deps) // /api/password, /api/password-reset
  links(app, deps) // /api/links/read, /api/links/use
  keys(app, deps) // /api/keys
  tokens(app, deps) // /api/domains/:domain/tokens, /api/tokens/:id
  dashboard(app, deps) // /, its pages and files, /docs

  operatorAccounts(app, deps) // /api/operator/accounts, /api/operator/invitations
  operatorNodes(app, deps) // /api/operator/nodes
  operatorQueue(app, deps) // /api/operator/queue, jobs, failures

  // Without authentication.
  health(app, deps) // /healthz, /readyz, /metrics
  docs(app) // /openapi.json
  bot(app, deps) // /bot

  await app.ready()
  return app
}
