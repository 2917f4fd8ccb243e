import type pg from 'pg'
import { z } from 'zod'

import { retriedTransaction } from '../../db/retried-transaction.ts'
import { AppError } from '../../errors.ts'
import { pauseWarm, resumeWarm } from '../../queue/warm-control.ts'
import { readWarm } from '../../queue/warm-progress.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { domainParams } from '../domain-schema.ts'
import { ownedDomain } from '../owned-domain.ts'
import { warmAnswer } from '../warm-schema.ts'

const bodySchema = z.object({
  paused: z.boolean().describe('true: what waits is taken out of the queue; false: it goes on'),
})

export function warmChange(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'PUT',
    url: '/api/domains/:domain/warm',
    config: { access: 'key' },
    schema: {
      operationId: 'changeWarm',
      tags: ['Cache'],
      summary: 'Pause the warm of a domain, or go on with it',
      description: 'Pages that are being rendered are rendered to their end.',
      security: [{ ApiKey: [] }],
      params: domainParams,
      body: bodySchema,
      response: {
        200: answer('It is so now', warmAnswer),
        ...refusals(
          ...KEY_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'domain_not_found',
          'warm_not_under_way',
        ),
      },
    },
    handler: async (request) => {
      const { pool } = deps
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      const change = request.body.paused ? pauseWarm : resumeWarm
      await retriedTransaction(pool, (client) => change(client, domain.id))
      const warm = await readWarm(pool, domain.id)
      const isUnderWay = warm !== null && warm.ended_at === null
      if (!isUnderWay) throw new AppError('warm_not_under_way')
      return { domain: domain.name, warm }
    },
  })
}
