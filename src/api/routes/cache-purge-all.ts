import type pg from 'pg'

import { listOwnedDomains } from '../../accounts/domains.ts'
import { retriedTransaction } from '../../db/retried-transaction.ts'
import { purgePages } from '../../pages/purge.ts'
import { purgeAhead } from '../../pages/purge-ahead.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import type { CaughtUp } from '../caught-up.ts'
import { domains, entries } from '../plural.ts'
import { purgedSchema } from '../purged-schema.ts'

export function cachePurgeAll(app: ApiApp, deps: { pool: pg.Pool; caughtUp: CaughtUp }): void {
  app.route({
    method: 'POST',
    url: '/api/cache/purge-all',
    config: { access: 'key' },
    schema: {
      operationId: 'purgeAll',
      tags: ['Cache'],
      summary: 'Delete everything that is stored for all your domains',
      security: [{ ApiKey: [] }],
      response: { 200: answer('Deleted', purgedSchema), ...refusals(...KEY_REFUSALS, ...BODY_REFUSALS) },
    },
    handler: async (request) => {
      const owned = await listOwnedDomains(deps.pool, callerOf(request).account)
      let ahead = 0
      for (const { id } of owned) ahead += await purgeAhead(deps.pool, id, { kind: 'all' })
      const rest = await retriedTransaction(deps.pool, async (client) => {
        let deleted = 0
        for (const domain of owned) deleted += await purgePages(client, domain.id, { kind: 'all' })
        return deleted
      })
      const keysDeleted = ahead + rest
      await deps.caughtUp()
      return { message: `Purged ${entries(keysDeleted)} of ${domains(owned.length)}`, keysDeleted }
    },
  })
}
