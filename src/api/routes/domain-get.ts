import type pg from 'pg'
import { z } from 'zod'

import { findDomain } from '../../accounts/domains.ts'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { callerOf } from '../access.ts'
import { answer, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { domainParams, domainWithSettingsSchema } from '../domain-schema.ts'
import { domainNameOf } from '../owned-domain.ts'

export function domainGet(app: ApiApp, deps: { pool: pg.Pool; plans: PlanCatalogue; clock: Clock }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain',
    config: { access: 'key' },
    schema: {
      operationId: 'getDomain',
      tags: ['Domains'],
      summary: 'One domain, with its settings',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('The domain', z.object({ domain: domainWithSettingsSchema })),
        ...refusals(...KEY_REFUSALS, 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const { account } = callerOf(request)
      const view = { plans: deps.plans, nowMs: deps.clock.nowMs() }
      const domain = await findDomain(deps.pool, account, domainNameOf(request.params.domain), view)
      if (domain === null) throw new AppError('domain_not_found')
      return { domain }
    },
  })
}
