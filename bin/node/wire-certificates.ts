import type { EdgeTls } from '@prepaint/edge/server/servers.ts'
import type { AddressGuard } from '@prepaint/outbound'
import type { Listener } from '@prepaint/postgres/listener.ts'
import type { TaskRunner } from '@prepaint/postgres/tasks'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Held } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { findHttpChallenge } from '@prepaint/service/certificates/acme/challenge.ts'
import { createTransport } from '@prepaint/service/certificates/acme/transport.ts'
import { createContexts } from '@prepaint/service/certificates/contexts.ts'
import { Ordering } from '@prepaint/service/certificates/orders/ordering.ts'
import { reachesUs } from '@prepaint/service/certificates/orders/reachability.ts'
import { readServedCertificate } from '@prepaint/service/certificates/stored-certificate.ts'
import { MasterKeyError } from '@prepaint/service/certificates/vault/master-key.ts'
import type { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { findAnswer } from '@prepaint/service/sites/reachability/published-answer.ts'
import type pg from 'pg'
import { CommandError } from '../command-line/command.ts'
import type { Config } from '../settings/config.ts'

type Deps = {
  config: Config
  pool: pg.Pool
  listener: Listener
  guard: AddressGuard
  vault: Vault
  clock: Clock
  log: Log
}

/** A wrong master key is an error only if this node orders certificates; else it is logged. */
export async function checkMasterKey({
  config,
  vault,
  log,
}: Pick<Deps, 'config' | 'vault' | 'log'>): Promise<void> {
  if (config.acme.directory !== null && config.roles.has('edge')) {
    return vault.admit().catch((error: unknown) => {
      if (error instanceof MasterKeyError) throw new CommandError(error.message, { cause: error })
      throw error
    })
  }
  const fits = await vault.fits()
  if (fits && config.secretKeys !== null) return vault.admit()
  if (!fits) {
    log.error(
      'certificates in this database are encrypted with another master key: this node serves no TLS for them and ' +
        'accepts none. Set the same PREPAINT_SECRET_KEY on all nodes, see docs/tls.md.',
    )
  }
}

export type Certificates = {
  tls: EdgeTls
  held: Held
  findChallenge: (host: string, token: string) => Promise<string | null>
}

export function wireCertificates({
  db,
  listener,
  vault,
  clock,
  log,
}: Omit<Deps, 'config' | 'guard' | 'pool'> & { db: Queryable }): Certificates {
  const contexts = createContexts({
    read: (name) => readServedCertificate(db, name),
    vault,
    connected: () => listener.connected,
    clock,
    log,
  })
  return {
    tls: contexts,
    held: contexts.held,
    findChallenge: async (host, token) =>
      (await findHttpChallenge(db, host, token)) ?? findAnswer(db, host, token),
  }
}

export function wireOrdering({
  config,
  pool,
  listener,
  tasks,
  guard,
  vault,
  clock,
  log,
}: Deps & { tasks: TaskRunner }): Ordering | null {
  const { directory, email, selfCheck, ordersPerHour } = config.acme
  if (directory === null) return null
  const transport = createTransport({ userAgent: `Prepaint/${config.version}` })
  const ordering = new Ordering(
    {
      pool,
      listener,
      vault,
      transport,
      clock,
      log,
      reach: selfCheck ? (name, publish, signal) => reachesUs({ guard }, name, publish, signal) : null,
    },
    { directoryUrl: directory, email, perHour: ordersPerHour },
  )
  tasks.add(ordering)
  ordering.start()
  return ordering
}
