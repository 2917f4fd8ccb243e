import type { Server } from 'node:http'

import type pg from 'pg'

import { createSignIn } from '../src/accounts/sign-in.ts'
import type { ReadMetrics } from '../src/api/routes/metrics.ts'
import type { CheckReadiness } from '../src/api/routes/readiness.ts'
import { createApiServer } from '../src/api/server.ts'
import type { Vault } from '../src/certificates/vault.ts'
import { createClientReader } from '../src/client-address.ts'
import type { Clock } from '../src/clock.ts'
import type { Config } from '../src/config.ts'
import { takeOfRate } from '../src/db/account-rate.ts'
import type { Listener } from '../src/db/listener.ts'
import type { Patience } from '../src/db/patience.ts'
import type { Doors } from '../src/edge/doors.ts'
import { createEvents } from '../src/events/events.ts'
import type { AddressGuard } from '../src/gateway/address-guard.ts'
import { checkOriginUrl } from '../src/gateway/origin-url.ts'
import type { Log } from '../src/log.ts'
import { createMailer } from '../src/mail/mailer.ts'
import { findJob } from '../src/queue/find-job.ts'
import { CHECK_RATE, createChecks } from '../src/reach/checks.ts'
import { readDnsState } from '../src/reach/dns-state.ts'
import { publishWord } from '../src/reach/reach-word.ts'
import { tryOrigin } from '../src/reach/try-origin.ts'
import { signInSecret } from './sign-in-secret.ts'

const NAME_SERVERS_WITHIN_MS = 5_000

/** The HTTP interface; its server does not listen yet. */
export async function wireApi(deps: {
  config: Config
  pool: pg.Pool
  patience: Patience
  listener: Listener
  guard: AddressGuard
  clock: Clock
  log: Log
  checkReadiness: CheckReadiness
  doors: Doors
  readMetrics: ReadMetrics
  vault: Vault
}): Promise<{ server: Server; endStreams(): void; close(): Promise<void> }> {
  const { config, listener, guard, patience } = deps
  const signIn = createSignIn({
    pool: deps.pool,
    log: deps.log,
    secret: () => signInSecret(deps.pool, deps.vault),
    secure: config.publicUrl?.startsWith('https:') === true,
    baseUrl: config.publicUrl ?? 'http://127.0.0.1',
  })
  const mailer = config.mail === null ? null : createMailer(config.mail, deps.log)
  const events = createEvents({ ...deps, plans: config.plans })
  const app = await createApiServer(
    {
      ...deps,
      plans: config.plans,
      // Who asks is found out soon, or answered 500.
      accessDb: patience.db,
      signIn: { ...signIn, read: (cookie) => patience.ask(() => signIn.read(cookie)) },
      readClient: createClientReader(config.trustedProxies),
      checkOrigin: (raw) => checkOriginUrl(raw, guard, { timeoutMs: NAME_SERVERS_WITHIN_MS }),
      findJob,
      subscribe: events.subscribe,
      ...(mailer && { mailer }),
      checks: createChecks({
        clock: deps.clock,
        take: (account) => takeOfRate(deps.pool, account, CHECK_RATE),
        readDns: (account, name) =>
          readDnsState({ guard, publish: (...whose) => publishWord(deps.pool, ...whose) }, account, name),
        tryOrigin: (url) => tryOrigin(url, { guard }),
      }),
      // The edge and the doors hold in memory what a change makes untrue.
      caughtUp: listener.caughtUp,
    },
    {
      version: config.version,
      publicUrl: config.publicUrl,
      contact: config.contact,
      edgeTarget: config.edgeTarget,
      clients: config.clients,
      metricsToken: config.metricsToken,
    },
  )
  return {
    server: app.server,
    endStreams: events.close,
    close: async () => {
      await app.close()
      await mailer?.close()
    },
  }
}
