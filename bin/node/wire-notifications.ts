import type pg from 'pg'
import type { Vault } from '../../src/certificates/vault/vault.ts'
import type { Clock } from '../../src/clock.ts'
import type { Config } from '../../src/config.ts'
import type { Listener } from '../../src/db/listener.ts'
import type { Log } from '../../src/log.ts'
import { createMailer } from '../../src/mail/mailer.ts'
import { startSender } from '../../src/notifications/delivery/sender.ts'
import { startEvaluator } from '../../src/notifications/incidents/evaluator.ts'
import type { AddressGuard } from '../../src/outbound/address-guard.ts'
import { readDnsState } from '../../src/sites/reachability/dns-state.ts'
import { publishAnswer } from '../../src/sites/reachability/published-answer.ts'
import { tryOrigin } from '../../src/sites/reachability/try-origin.ts'

/** Every node with an API evaluates and sends; the database decides which one does what. */
export async function wireNotifications(deps: {
  config: Config
  pool: pg.Pool
  listener: Listener
  guard: AddressGuard
  vault: Vault
  clock: Clock
  log: Log
}): Promise<{ close(): Promise<void> }> {
  const { config, pool, guard } = deps
  const { plans, version, publicUrl, notifySpeed: speed } = config
  const mailer = config.mail === null ? null : await createMailer(config.mail, deps.log)
  // Settings with a mail server have a public URL.
  const sender = startSender({ ...deps, plans, version, speed, mailer, publicUrl: publicUrl ?? '' })
  const evaluator = startEvaluator({
    pool,
    plans,
    publicUrl,
    speed,
    log: deps.log,
    tryOrigin: (url) => tryOrigin(url, { guard }),
    readDns: (account, name) =>
      readDnsState({ guard, publish: (...whose) => publishAnswer(pool, ...whose) }, account, name),
  })
  return {
    async close() {
      await Promise.all([evaluator.close(), sender.close()])
      await mailer?.close()
    },
  }
}
