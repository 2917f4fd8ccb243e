import type pg from 'pg'
import { z } from 'zod'

import type { Clock } from '../../clock.ts'
import { readTraffic } from '../../traffic/read-traffic.ts'
import { callerOf } from '../access.ts'
import { KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { answerWithCsv, sendCsv, wantsCsv } from '../csv-answer.ts'
import { domainParams } from '../domain-schema.ts'
import { ownedDomain } from '../owned-domain.ts'
import { trafficCsv } from '../traffic-csv.ts'
import { rangeFields, rangeFieldsSchema, rangeOf, rangeQuery, trafficSchema } from '../traffic-schema.ts'

export function trafficGet(app: ApiApp, deps: { pool: pg.Pool; clock: Clock }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/traffic',
    config: { access: 'key' },
    schema: {
      operationId: 'getTraffic',
      tags: ['Traffic'],
      summary:
        'Live traffic of a domain: by category, crawler and verdict, with hit ratio and response times',
      description:
        'Counts are some seconds old; hours are kept for 90 days, days for 400. Steps are hours or days in UTC.',
      security: [{ ApiKey: [] }],
      params: domainParams,
      querystring: rangeQuery,
      response: {
        200: answerWithCsv(
          'The traffic',
          z.object({ domain: z.string(), ...rangeFieldsSchema, traffic: trafficSchema }),
        ),
        ...refusals(...KEY_REFUSALS, 'invalid_field', 'domain_not_found'),
      },
    },
    handler: async (request, reply) => {
      const { account } = callerOf(request)
      const domain = await ownedDomain(deps.pool, account, request.params.domain)
      const range = rangeOf(request.query, deps.clock.nowMs())
      const traffic = await readTraffic(deps.pool, { account, domain: domain.id }, range)
      const fields = rangeFields(range)
      if (!wantsCsv(request, request.query.format)) return { domain: domain.name, ...fields, traffic }
      return sendCsv(reply, `traffic-${domain.name}-${fields.from.slice(0, 10)}`, trafficCsv(traffic))
    },
  })
}
