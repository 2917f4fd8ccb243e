import { AppError } from '@prepaint/contract/errors.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createAddressGuard } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import { BodyStore } from '@prepaint/pages/store/bodies/body-store.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { createClientReader } from '@prepaint/runtime/http/client-address.ts'
import { NO_CLIENT_LIMITS } from '@prepaint/runtime/http/client-limits.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { SelectorCheck } from '@prepaint/service/sites/checked-rules.ts'
import { DomainProofs } from '@prepaint/service/sites/proof/domain-proofs.ts'
import { Checks } from '@prepaint/service/sites/reachability/checks.ts'
import type pg from 'pg'
import type { ApiOptions, ApiParts } from '../../packages/api/src/http/app.ts'

export const TEST_OPTIONS: ApiOptions = {
  plans: DEFAULT_PLANS,
  notifySpeed: 1,
  domainProof: 'takeover',
  clients: { ...NO_CLIENT_LIMITS, failures: Number.POSITIVE_INFINITY },
  version: '0.0.0-test',
  publicUrl: null,
  contact: null,
  edgeTarget: null,
  egressAddresses: [],
  confirmSeconds: 900,
  metricsToken: null,
}

/** The parts of an API with nothing around it but a database: no edge, no origins, no mail, no live updates. */
export function standInParts(pool: pg.Pool, clock: Clock): ApiParts {
  const log = silentLog()
  const get = { origins: createClient(createAddressGuard([])), userAgent: 'Prepaint' }
  return {
    pool,
    bodies: BodyStore.none(pool, silentLog()),
    accessDb: pool,
    clock,
    log,
    vault: new Vault(pool, '/nowhere', null),
    mailer: null,
    singleSignOn: null,
    robots: new RobotsFiles(pool, pool, get, null, clock, log),
    checks: new Checks(clock, async () => null, {
      checkDns: async () => null,
      tryOrigin: async () => ({ status: 200, problem: null }),
    }),
    proofs: new DomainProofs(
      pool,
      clock,
      async () => ({
        kind: 'missing',
        error: 'Nothing was asked.',
        isRecordAbsent: true,
        site: 'none',
      }),
      1,
    ),
    selectors: new SelectorCheck(null, log),
    integrations: { answer: () => {}, offer: () => {} },
    evidence: { noteRefusal: () => {}, refuseCheck: async () => {} },
    checkIntegration: async () => {
      throw new AppError('not_ready')
    },
    readClient: createClientReader([]),
    subscribe: () => {
      throw new AppError('events_unavailable')
    },
    caughtUp: async () => {},
    checkOrigin: async (originUrl) => ({ ok: true, originUrl }),
    checkEndpoint: async () => {},
    checkEdge: null,
    checkReadiness: async () => ({ ready: true, state: 'serving', database: 'ok', browser: 'none' }),
    readMetrics: async () => {
      throw new AppError('not_found')
    },
    edgePort: () => null,
  }
}
