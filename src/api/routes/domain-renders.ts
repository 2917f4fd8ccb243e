import type pg from 'pg'
import { z } from 'zod'

import { AppError } from '../../errors.ts'
import { lastRenders } from '../../queue/render-records.ts'
import { callerOf } from '../access.ts'
import { answer, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { domainParams } from '../domain-schema.ts'
import { domainNameOf } from '../owned-domain.ts'
import { renderSchema } from '../render-schema.ts'

export function domainRenders(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/renders',
    config: { access: 'key' },
    schema: {
      operationId: 'listRenders',
      tags: ['Jobs'],
      summary: 'How the last 50 renders of a domain went, newest first; kept for a week, 20 of each page',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('The renders', z.object({ domain: z.string(), renders: z.array(renderSchema) })),
        ...refusals(...KEY_REFUSALS, 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const domain = domainNameOf(request.params.domain)
      const renders = await lastRenders(deps.pool, callerOf(request).account, domain)
      if (renders === null) throw new AppError('domain_not_found')
      return { domain, renders }
    },
  })
}
