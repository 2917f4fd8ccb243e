import type pg from 'pg'
import { z } from 'zod'

import { deleteDomain } from '../../accounts/domain-changes.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import type { CaughtUp } from '../caught-up.ts'
import { deletedDomainSchema, domainParams } from '../domain-schema.ts'
import { domainNameOf } from '../owned-domain.ts'

export function domainDelete(app: ApiApp, deps: { pool: pg.Pool; caughtUp: CaughtUp }): void {
  app.route({
    method: 'DELETE',
    url: '/api/domains/:domain',
    config: { access: 'key' },
    schema: {
      operationId: 'deleteDomain',
      tags: ['Domains'],
      summary: 'Remove a domain with its stored pages, jobs and webhook tokens',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('What was removed', z.object({ deleted: deletedDomainSchema })),
        ...refusals(...KEY_REFUSALS, ...BODY_REFUSALS, 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const name = domainNameOf(request.params.domain)
      const deleted = await deleteDomain(deps.pool, callerOf(request).account, name)
      await deps.caughtUp()
      return { deleted }
    },
  })
}
