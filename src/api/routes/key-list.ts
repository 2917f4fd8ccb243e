import type pg from 'pg'
import { z } from 'zod'

import { listKeys } from '../../accounts/keys.ts'
import { ENDED_SECRETS_KEPT_DAYS } from '../../accounts/remove-old-secrets.ts'
import type { Clock } from '../../clock.ts'
import { sessionCaller } from '../access.ts'
import { answer, refusals, SESSION_REFUSALS } from '../answer.ts'
import { apiSchema } from '../api-schema.ts'
import type { ApiApp } from '../app.ts'

export const keySchema = apiSchema(
  'ApiKey',
  z.object({
    id: z.int(),
    name: z.string(),
    hint: z.string().describe('Its first characters'),
    state: z.enum(['active', 'expired', 'revoked']),
    created_at: z.string(),
    expires_at: z.string().nullable(),
    last_used_at: z.string().nullable(),
    revoked_at: z.string().nullable(),
  }),
)

export function keyList(app: ApiApp, deps: { pool: pg.Pool; clock: Clock }): void {
  app.route({
    method: 'GET',
    url: '/api/keys',
    config: { access: 'session' },
    schema: {
      operationId: 'listKeys',
      tags: ['API keys'],
      summary: 'The API keys of the account, the oldest first',
      description: `Revoked and expired ones for ${ENDED_SECRETS_KEPT_DAYS} days.`,
      security: [{ Session: [] }],
      response: {
        200: answer('The keys, never in clear', z.object({ keys: z.array(keySchema) })),
        ...refusals(...SESSION_REFUSALS),
      },
    },
    handler: async (request) => ({
      keys: await listKeys(deps.pool, sessionCaller(request).account, deps.clock.nowMs()),
    }),
  })
}
