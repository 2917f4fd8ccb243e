import type pg from 'pg'
import { z } from 'zod'

import { createKey } from '../../accounts/keys.ts'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import type { Clock } from '../../clock.ts'
import { sessionCaller } from '../access.ts'
import { answer, BODY_REFUSALS, refusals, SESSION_REFUSALS } from '../answer.ts'
import type { ApiApp } from '../app.ts'

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
