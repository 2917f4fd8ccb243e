import type pg from 'pg'
import { z } from 'zod'

import { countStored } from '../../pages/count-stored.ts'
import { callerOf } from '../access.ts'
import { answer, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'

const statsSchema = z.object({
  totalKeys: z.int().describe('What a purge of all domains would delete now'),
  domainCount: z.int(),
})

export function cacheStats(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/cache/stats',
    config: { access: 'key' },
    schema: {
      operationId: 'cacheStats',
      tags: ['Cache'],
      summary: 'How much is stored for all your domains',
      security: [{ ApiKey: [] }],
      response: { 200: answer('The counts', statsSchema), ...refusals(...KEY_REFUSALS) },
    },
    handler: async (request) => {
      const { domains, entries } = await countStored(deps.pool, callerOf(request).account)
      return { totalKeys: entries, domainCount: domains }
    },
  })
}
