import type { AddressGuard } from '@prepaint/outbound'
import type { Listener } from '@prepaint/postgres/listener.ts'
import type { TaskRunner } from '@prepaint/postgres/tasks'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { Mailer } from '@prepaint/service/mail/mailer.ts'
import { Sender } from '@prepaint/service/notifications/delivery/sender.ts'
import { Evaluation } from '@prepaint/service/notifications/incidents/evaluator.ts'
import { checkDns } from '@prepaint/service/sites/reachability/dns-state.ts'
import { tryOrigin } from '@prepaint/service/sites/reachability/try-origin.ts'
import type pg from 'pg'
import type { Config } from '../settings/config.ts'

/** Every node with an API evaluates and sends; the database decides which one does what. */
export async function wireNotifications(deps: {
  config: Config
  pool: pg.Pool
  tasks: TaskRunner
  listener: Listener
  guard: AddressGuard
  vault: Vault
  clock: Clock
  log: Log
}): Promise<{ close(): Promise<void> }> {
  const { config, pool, guard } = deps
  const { plans, version, publicUrl, notifySpeed: speed } = config
  const mailer = config.mail === null ? null : await Mailer.start(config.mail, deps.log)
  // Settings with a mail server have a public URL.
  const sender = new Sender({ ...deps, plans, version, speed, mailer, publicUrl: publicUrl ?? '' })
  const evaluation = new Evaluation({
    pool,
    plans,
    publicUrl,
    speed,
    log: deps.log,
    tryOrigin: (url) => tryOrigin(url, { guard }),
    readDns: (account, name) => checkDns(pool, guard, account, name),
  })
  for (const kind of [...sender.kinds, evaluation]) deps.tasks.add(kind)
  return {
    async close() {
      await evaluation.close()
      sender.close()
      await mailer?.close()
    },
  }
}
