import type pg from 'pg'
import type { Vault } from '../../src/certificates/vault/vault.ts'
import type { Clock } from '../../src/clock.ts'
import type { Config } from '../../src/config.ts'
import type { Listener } from '../../src/db/listener.ts'
import type { Log } from '../../src/log.ts'
import { startSender } from '../../src/notifications/delivery/sender.ts'
import type { AddressGuard } from '../../src/outbound/address-guard.ts'

/** Every node with an API evaluates and sends; the database decides which one does what. */
export function wireNotifications(deps: {
  config: Config
  pool: pg.Pool
  listener: Listener
  guard: AddressGuard
  vault: Vault
  clock: Clock
  log: Log
}): { close(): Promise<void> } {
  const { config } = deps
  const speed = config.notifySpeed
  const sender = startSender({ ...deps, plans: config.plans, version: config.version, speed, sendMail: null })
  return {
    async close() {
      await sender.close()
    },
  }
}
