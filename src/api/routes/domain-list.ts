import type pg from 'pg'
import { z } from 'zod'

import { listDomains } from '../../accounts/domains.ts'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import type { Clock } from '../../clock.ts'
import { callerOf } from '../access.ts'
import { answer, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { domainSchema } from '../domain-schema.ts'

export function domainList(app: ApiApp, deps: { pool: pg.Pool; plans: PlanCatalogue; clock: Clock }): void {
  app.route({
    method: 'GET',
    url: '/api/domains',
    config: { access: 'key' },
    schema: {
      operationId: 'listDomains',
      tags: ['Domains'],
      summary: 'All domains of the account, by name',
      security: [{ ApiKey: [] }],
      response: {
        200: answer('The domains', z.object({ domains: z.array(domainSchema) })),
        ...refusals(...KEY_REFUSALS),
      },
    },
    handler: async (request) => {
      const { account } = callerOf(request)
      const view = { plans: deps.plans, nowMs: deps.clock.nowMs() }
      return { domains: await listDomains(deps.pool, account, view) }
    },
  })
}
