import type pg from 'pg'
import { z } from 'zod'

import type { PlanCatalogue } from '../../accounts/plans.ts'
import { createToken } from '../../accounts/tokens.ts'
import { sessionCaller } from '../access.ts'
import { answer, BODY_REFUSALS, refusals, SESSION_REFUSALS } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { domainParams } from '../domain-schema.ts'
import { domainNameOf } from '../owned-domain.ts'

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
