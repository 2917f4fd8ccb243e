import type pg from 'pg'

import { readWarm } from '../../queue/warm-progress.ts'
import { callerOf } from '../access.ts'
import { answer, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { domainParams } from '../domain-schema.ts'
import { ownedDomain } from '../owned-domain.ts'
import { warmAnswer } from '../warm-schema.ts'

export function warmGet(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/warm',
    config: { access: 'key' },
    schema: {
      operationId: 'getWarm',
      tags: ['Cache'],
      summary: 'How far the last warm of a domain is',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('The warm under way, or the last one', warmAnswer),
        ...refusals(...KEY_REFUSALS, 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const domain = await ownedDomain(deps.pool, callerOf(request).account, request.params.domain)
      return { domain: domain.name, warm: await readWarm(deps.pool, domain.id) }
    },
  })
}
