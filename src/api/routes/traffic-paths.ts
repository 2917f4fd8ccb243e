import type pg from 'pg'
import { z } from 'zod'

import { utcDay } from '../../accounts/month.ts'
import type { Clock } from '../../clock.ts'
import { readPaths } from '../../traffic/read-paths.ts'
import { callerOf } from '../access.ts'
import { KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { answerWithCsv, sendCsv, wantsCsv } from '../csv-answer.ts'
import { domainParams } from '../domain-schema.ts'
import { ownedDomain } from '../owned-domain.ts'
import { pathsCsv } from '../traffic-csv.ts'
import { rangeOf, rangeQuery, trafficPathsSchema } from '../traffic-schema.ts'

const MOST_PATHS = 300
const USUAL_PATHS = 20

const query = rangeQuery.omit({ step: true }).extend({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MOST_PATHS)
    .default(USUAL_PATHS)
    .describe(`Paths of each list, 1 to ${MOST_PATHS}; absent: ${USUAL_PATHS}`),
})

export function trafficPaths(app: ApiApp, deps: { pool: pg.Pool; clock: Clock }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/traffic/paths',
    config: { access: 'key' },
    schema: {
      operationId: 'getTrafficPaths',
      tags: ['Traffic'],
      summary: 'The paths that crawlers asked for most, and those that failed most, in whole UTC days',
      security: [{ ApiKey: [] }],
      params: domainParams,
      querystring: query,
      response: {
        200: answerWithCsv('The paths', trafficPathsSchema),
        ...refusals(...KEY_REFUSALS, 'invalid_field', 'domain_not_found'),
      },
    },
    handler: async (request, reply) => {
      const { account } = callerOf(request)
      const { limit, format, ...asked } = request.query
      const domain = await ownedDomain(deps.pool, account, request.params.domain)
      const range = rangeOf({ ...asked, step: 'day' }, deps.clock.nowMs())
      const days = { from: utcDay(range.fromMs), to: utcDay(range.toMs - 1) }
      const paths = await readPaths(deps.pool, { account, domain: domain.id }, days, limit)
      if (!wantsCsv(request, format)) return { domain: domain.name, ...days, ...paths }
      return sendCsv(reply, `paths-${domain.name}-${days.from}`, pathsCsv(paths))
    },
  })
}
