import type pg from 'pg'
import { z } from 'zod'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import { ENDED_SECRETS_KEPT_DAYS } from '../../accounts/retention.ts'
import { createToken, listTokens, revokeToken } from '../../accounts/tokens.ts'
import type { Clock } from '../../clock.ts'
import { domainNameOf, domainParams } from '../domains/domain-schema.ts'
import { sessionCaller } from '../http/access.ts'
import { answer, BODY_REFUSALS, emptyAnswer, refusals, SESSION_REFUSALS } from '../http/answer.ts'
import { type ApiApp, apiSchema, idOf } from '../http/app.ts'

export function tokenCreate(app: ApiApp, deps: { pool: pg.Pool; plans: PlanCatalogue }): void {
  app.route({
    method: 'POST',
    url: '/api/domains/:domain/tokens',
    config: { access: 'session' },
    schema: {
      operationId: 'createToken',
      tags: ['Webhooks'],
      summary: 'Create a webhook token for the domain; it is shown this once',
      security: [{ Session: [] }],
      params: domainParams,
      body: z.object({ name: z.string().describe('What its owner will know it by') }),
      response: {
        201: answer('The token', z.object({ id: z.int(), name: z.string(), token: z.string() })),
        ...refusals(
          ...SESSION_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'plan_without_webhooks',
          'webhook_token_limit',
          'domain_not_found',
        ),
      },
    },
    handler: async (request, reply) => {
      const domain = domainNameOf(request.params.domain)
      const { account } = sessionCaller(request)
      return reply
        .code(201)
        .send(await createToken(deps.pool, account, domain, request.body.name, deps.plans))
    },
  })
}

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

export function tokenRevoke(app: ApiApp, deps: { pool: pg.Pool; clock: Clock }): void {
  app.route({
    method: 'DELETE',
    url: '/api/tokens/:id',
    config: { access: 'session' },
    schema: {
      operationId: 'revokeToken',
      tags: ['Webhooks'],
      summary: 'Revoke a webhook token of one of the domains: the next request with it is refused',
      security: [{ Session: [] }],
      params: z.object({ id: z.string().describe('As the list gave it') }),
      response: {
        204: emptyAnswer('Revoked'),
        ...refusals(...SESSION_REFUSALS, 'webhook_token_not_found', 'malformed_request'),
      },
    },
    handler: async (request, reply) => {
      const id = idOf(request.params.id, 'webhook_token_not_found')
      await revokeToken(deps.pool, sessionCaller(request).account, id, deps.clock.nowMs())
      return reply.code(204).send(null)
    },
  })
}
