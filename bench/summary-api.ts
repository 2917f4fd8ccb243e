/** The API of a checkout for `bench/domain-summaries.ts`, on its own port over an existing database. */
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as Api from '@prepaint/api/server.ts'

import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createClientReader } from '@prepaint/runtime/http/client-address.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createVault } from '@prepaint/service/certificates/vault/vault.ts'
import type pg from 'pg'

export type SummaryApi = { url: string; close(): Promise<void> }

/** `nowMs`: its clock always shows this time. */
export async function openSummaryApi(checkout: string, pool: pg.Pool, nowMs: number): Promise<SummaryApi> {
  const file = pathToFileURL(path.resolve(checkout, 'packages/api/src/server.ts')).href
  const { createApiServer } = (await import(file)) as typeof Api
  const log = silentLog()
  const app = await createApiServer({
    pool,
    plans: DEFAULT_PLANS,
    clock: { nowMs: () => nowMs },
    log,
    checkEndpoint: async () => {},
    checkOrigin: async (raw) => ({ ok: true, originUrl: raw }),
    vault: createVault({ pool, keys: null, dataDir: tmpdir() }),
    readClient: createClientReader([]),
    integrations: { answer: () => {}, offer: () => {} },
    caughtUp: async () => {},
    checkReadiness: async () => ({ ready: true, state: 'serving', database: 'ok', browser: 'none' }),
    version: 'bench',
    publicUrl: null,
    contact: null,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => app.close() }
}
