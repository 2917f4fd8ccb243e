import type { Server } from 'node:http'
import { createApiServer } from '@prepaint/api/server.ts'
import type { CheckReadiness, ReadMetrics } from '@prepaint/api/service/health.ts'
import type { Integrations } from '@prepaint/edge/request/integrations.ts'
import { type AddressGuard, checkOriginUrl } from '@prepaint/outbound'
import type { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import type { DatabaseTimeouts } from '@prepaint/postgres/database-timeouts.ts'
import type { Listener } from '@prepaint/postgres/listener.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { createClientReader } from '@prepaint/runtime/http/client-address.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { Events } from '@prepaint/service/insight/events/events.ts'
import { Mailer } from '@prepaint/service/mail/mailer.ts'
import { checkEndpointUrl } from '@prepaint/service/notifications/delivery/endpoint-url.ts'
import { CHECK_RATE, Checks } from '@prepaint/service/sites/reachability/checks.ts'
import { checkDns } from '@prepaint/service/sites/reachability/dns-state.ts'
import { tryOrigin } from '@prepaint/service/sites/reachability/try-origin.ts'
import type pg from 'pg'
import type { Config } from '../settings/config.ts'

const NAME_SERVERS_WITHIN_MS = 5_000

export async function wireApi(deps: {
  config: Config
  pool: pg.Pool
  timeouts: DatabaseTimeouts
  listener: Listener
  guard: AddressGuard
  clock: Clock
  log: Log
  checkReadiness: CheckReadiness
  integrations: Integrations
  robots: RobotsFiles
  /** null: no edge listens here. */
  edgePort(): number | null
  readMetrics: ReadMetrics
  vault: Vault
}): Promise<{ server: Server; endStreams(): void; close(): Promise<void> }> {
  const { config, listener, guard, timeouts } = deps
  const mailer = config.mail === null ? null : await Mailer.start(config.mail, deps.log)
  const events = new Events(deps.pool, listener, deps.clock, deps.log, { plans: config.plans })
  const parts: Parameters<typeof createApiServer>[0] = {
    pool: deps.pool,
    clock: deps.clock,
    log: deps.log,
    vault: deps.vault,
    mailer,
    robots: deps.robots,
    integrations: deps.integrations,
    checkReadiness: deps.checkReadiness,
    readMetrics: deps.readMetrics,
    edgePort: deps.edgePort,
    // Responds with 500 if the key cannot be looked up in time.
    accessDb: timeouts.db,
    readClient: createClientReader(config.trustedProxies),
    checkEndpoint: (raw) => checkEndpointUrl(raw, guard),
    checkOrigin: (raw) => checkOriginUrl(raw, guard, { timeoutMs: NAME_SERVERS_WITHIN_MS }),
    subscribe: (...stream) => events.subscribe(...stream),
    checks: new Checks(deps.clock, (account) => CHECK_RATE.take(deps.pool, `account ${account}`), {
      checkDns: (account, name) => checkDns(deps.pool, guard, account, name),
      tryOrigin: (url) => tryOrigin(url, { guard }),
    }),
    // Edge and integrations cache what a change invalidates.
    caughtUp: listener.caughtUp,
  }
  const app = await createApiServer(parts, {
    plans: config.plans,
    version: config.version,
    publicUrl: config.publicUrl,
    contact: config.contact,
    edgeTarget: config.edgeTarget,
    egressAddresses: config.egressAddresses,
    clients: config.clients,
    metricsToken: config.metricsToken,
  })
  return {
    server: app.server,
    endStreams: () => events.close(),
    close: async () => {
      await app.close()
      await mailer?.close()
    },
  }
}
