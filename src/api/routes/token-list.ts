import type pg from 'pg'
import { z } from 'zod'

import { ENDED_SECRETS_KEPT_DAYS } from '../../accounts/remove-old-secrets.ts'
import { listTokens } from '../../accounts/tokens.ts'
import { sessionCaller } from '../access.ts'
import { answer, refusals, SESSION_REFUSALS } from '../answer.ts'
import { apiSchema } from '../api-schema.ts'
import type { ApiApp } from '../app.ts'
import { domainParams } from '../domain-schema.ts'
import { domainNameOf } from '../owned-domain.ts'

export const tokenSchema = apiSchema(
  'WebhookToken',
  z.object({
    id: z.int(),
    name: z.string(),
    hint: z.string().describe('Its first characters'),
    state: z.enum(['active', 'revoked']),
    created_at: z.string(),
    last_used_at: z.string().nullable(),
    revoked_at: z.string().nullable(),
  }),
)

export function tokenList(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/tokens',
    config: { access: 'session' },
    schema: {
      operationId: 'listTokens',
      tags: ['Webhooks'],
      summary: 'The webhook tokens of the domain, the oldest first',
      description: `Revoked ones for ${ENDED_SECRETS_KEPT_DAYS} days.`,
      security: [{ Session: [] }],
      params: domainParams,
      response: {
        200: answer('The tokens, never in clear', z.object({ tokens: z.array(tokenSchema) })),
        ...refusals(...SESSION_REFUSALS, 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const name = domainNameOf(request.params.domain)
      return { tokens: await listTokens(deps.pool, sessionCaller(request).account, name) }
    },
  })
}
