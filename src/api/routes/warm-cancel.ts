import type pg from 'pg'

import { retriedTransaction } from '../../db/retried-transaction.ts'
import { AppError } from '../../errors.ts'
import { cancelWarm } from '../../queue/warm-control.ts'
import { readWarm } from '../../queue/warm-progress.ts'
import { callerOf } from '../access.ts'
import { answer, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { domainParams } from '../domain-schema.ts'
import { ownedDomain } from '../owned-domain.ts'
import { warmAnswer } from '../warm-schema.ts'

export function warmCancel(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'DELETE',
    url: '/api/domains/:domain/warm',
    config: { access: 'key' },
    schema: {
      operationId: 'cancelWarm',
      tags: ['Cache'],
      summary: 'End the warm of a domain that is under way',
      description: 'Pages that were rendered stay, those that are being rendered are rendered to their end.',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('It has ended', warmAnswer),
        ...refusals(...KEY_REFUSALS, 'domain_not_found', 'warm_not_under_way'),
      },
    },
    handler: async (request) => {
      const { pool } = deps
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      const isCancelled = await retriedTransaction(pool, (client) => cancelWarm(client, domain.id))
      if (!isCancelled) throw new AppError('warm_not_under_way')
      return { domain: domain.name, warm: await readWarm(pool, domain.id) }
    },
  })
}
