import type pg from 'pg'
import { z } from 'zod'

import { requestInspection } from '../../lens/inspections.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { domainParams } from '../domain-schema.ts'
import { inspectionSchema, inspectionView } from '../lens-schema.ts'
import { onePagePath } from '../one-page.ts'
import { ownedDomain } from '../owned-domain.ts'

const bodySchema = z.object({
  path: z.string().startsWith('/', 'must start with /').describe('The page to look at, stored or not'),
})

export function inspectionCreate(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'POST',
    url: '/api/domains/:domain/inspections',
    config: { access: 'key' },
    schema: {
      operationId: 'createInspection',
      tags: ['Pages'],
      summary: 'Look at a page as crawlers and as people get it',
      description:
        'A node that renders shows the stored page without scripts, loads the page in real time as a person does, and takes a picture of both. Asks the origin once; stores nothing that is served, and so counts as no render. At most 60 per account and hour, 5 at a time; whoever asks for a page that is being looked at joins. Findings are kept for a day, those of the last 20.',
      security: [{ ApiKey: [] }],
      params: domainParams,
      body: bodySchema,
      response: {
        201: answer('It is queued, or under way', z.object({ inspection: inspectionSchema })),
        ...refusals(
          ...KEY_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'domain_not_found',
          'too_many_inspections',
          'inspection_rate',
        ),
      },
    },
    handler: async (request, reply) => {
      const { account } = callerOf(request)
      const domain = await ownedDomain(deps.pool, account, request.params.domain)
      const path = onePagePath(domain, request.body.path)
      const inspection = await requestInspection(deps.pool, account, domain.id, path)
      return reply.code(201).send({ inspection: inspectionView(inspection) })
    },
  })
}
