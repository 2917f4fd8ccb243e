import type { Server } from 'node:http'
import type pg from 'pg'
import { createApiServer } from '../../src/api/server.ts'
import type { CheckReadiness, ReadMetrics } from '../../src/api/service/health.ts'
import type { Vault } from '../../src/certificates/vault/vault.ts'
import type { Clock } from '../../src/clock.ts'
import type { Config } from '../../src/config.ts'
import { takeOfRate } from '../../src/db/account-rate.ts'
import type { DatabaseTimeouts } from '../../src/db/database-timeouts.ts'
import type { Listener } from '../../src/db/listener.ts'
import type { Integrations } from '../../src/edge/request/integrations.ts'
import { createClientReader } from '../../src/http/client-address.ts'
import { createEvents } from '../../src/insight/events/events.ts'
import type { Log } from '../../src/log.ts'
import { createMailer } from '../../src/mail/mailer.ts'
import { checkEndpointUrl } from '../../src/notifications/delivery/endpoint-url.ts'
import type { AddressGuard } from '../../src/outbound/address-guard.ts'
import { checkOriginUrl } from '../../src/outbound/origin-url.ts'
import type { RobotsFiles } from '../../src/site-files/robots-files.ts'
import { CHECK_RATE, createChecks } from '../../src/sites/reachability/checks.ts'
import { readDnsState } from '../../src/sites/reachability/dns-state.ts'
import { publishAnswer } from '../../src/sites/reachability/published-answer.ts'
import { tryOrigin } from '../../src/sites/reachability/try-origin.ts'

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
  const mailer = config.mail === null ? null : await createMailer(config.mail, deps.log)
  const events = createEvents({ ...deps, plans: config.plans })
  const app = await createApiServer({
    ...deps,
    plans: config.plans,
    // Responds with 500 if the key cannot be looked up in time.
    accessDb: timeouts.db,
    readClient: createClientReader(config.trustedProxies),
    checkEndpoint: (raw) => checkEndpointUrl(raw, guard),
    checkOrigin: (raw) => checkOriginUrl(raw, guard, { timeoutMs: NAME_SERVERS_WITHIN_MS }),
    subscribe: events.subscribe,
    ...(mailer && { mailer }),
    checks: createChecks({
      clock: deps.clock,
      take: (account) => takeOfRate(deps.pool, account, CHECK_RATE),
      readDns: (account, name) =>
        readDnsState({ guard, publish: (...whose) => publishAnswer(deps.pool, ...whose) }, account, name),
      tryOrigin: (url) => tryOrigin(url, { guard }),
    }),
    // Edge and integrations cache what a change invalidates.
    caughtUp: listener.caughtUp,
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
    endStreams: events.close,
    close: async () => {
      await app.close()
      await mailer?.close()
    },
  }
}
