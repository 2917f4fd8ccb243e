import type pg from 'pg'
import { z } from 'zod'
import { createKey, listKeys, revokeKey } from '../../accounts/keys.ts'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import { ENDED_SECRETS_KEPT_DAYS } from '../../accounts/retention.ts'
import type { Clock } from '../../clock.ts'
import { sessionCaller } from '../http/access.ts'
import { answer, BODY_REFUSALS, emptyAnswer, refusals, SESSION_REFUSALS } from '../http/answer.ts'
import { type ApiApp, apiSchema, idOf } from '../http/app.ts'

export function keyCreate(app: ApiApp, deps: { pool: pg.Pool; plans: PlanCatalogue; clock: Clock }): void {
  const { pool, plans, clock } = deps
  app.route({
    method: 'POST',
    url: '/api/keys',
    config: { access: 'session' },
    schema: {
      operationId: 'createKey',
      tags: ['API keys'],
      summary: 'Create an API key; it is shown this once',
      security: [{ Session: [] }],
      body: z.object({
        name: z.string().describe('What its owner will know it by'),
        expires_at: z.iso
          .datetime({ offset: true, error: 'must be a time such as 2027-01-31T12:00:00Z' })
          .nullish(),
      }),
      response: {
        201: answer('The key', z.object({ id: z.int(), name: z.string(), key: z.string() })),
        ...refusals(
          ...SESSION_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'plan_without_api',
          'api_key_limit',
        ),
      },
    },
    handler: async (request, reply) => {
      const { name, expires_at: expires } = request.body
      const expiresAt = expires == null ? null : new Date(expires)
      const now = { plans, nowMs: clock.nowMs() }
      const created = await createKey(pool, sessionCaller(request).account, { name, expiresAt }, now)
      return reply.code(201).send(created)
    },
  })
}

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

export function keyRevoke(app: ApiApp, deps: { pool: pg.Pool; clock: Clock }): void {
  app.route({
    method: 'DELETE',
    url: '/api/keys/:id',
    config: { access: 'session' },
    schema: {
      operationId: 'revokeKey',
      tags: ['API keys'],
      summary: 'Revoke an API key: the next request with it is refused',
      security: [{ Session: [] }],
      params: z.object({ id: z.string().describe('As the list gave it') }),
      response: {
        204: emptyAnswer('Revoked'),
        ...refusals(...SESSION_REFUSALS, 'api_key_not_found', 'malformed_request'),
      },
    },
    handler: async (request, reply) => {
      const id = idOf(request.params.id, 'api_key_not_found')
      await revokeKey(deps.pool, sessionCaller(request).account, id, deps.clock.nowMs())
      return reply.code(204).send(null)
    },
  })
}
