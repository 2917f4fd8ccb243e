import type pg from 'pg'
import { z } from 'zod'

import type { PlanCatalogue } from '../../accounts/plans.ts'
import type { Clock } from '../../clock.ts'
import { readMonths } from '../../traffic/read-renders.ts'
import { readSummaries } from '../../traffic/read-summaries.ts'
import { readTraffic } from '../../traffic/read-traffic.ts'
import { callerOf } from '../access.ts'
import { answer, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { answerWithCsv, sendCsv, wantsCsv } from '../csv-answer.ts'
import { trafficCsv } from '../traffic-csv.ts'
import {
  monthOfRendersSchema,
  rangeFields,
  rangeFieldsSchema,
  rangeOf,
  rangeQuery,
  trafficSchema,
  trafficSummarySchema,
} from '../traffic-schema.ts'

export const summaryWithRendersSchema = trafficSummarySchema.extend({
  renders: monthOfRendersSchema.omit({ days: true }),
})

type Deps = { pool: pg.Pool; plans: PlanCatalogue; clock: Clock }

export function trafficOfAccount(app: ApiApp, deps: Deps): void {
  app.route({
    method: 'GET',
    url: '/api/traffic',
    config: { access: 'key' },
    schema: {
      operationId: 'getTrafficOfAccount',
      tags: ['Traffic'],
      summary: 'Live traffic of all domains of the account together',
      security: [{ ApiKey: [] }],
      querystring: rangeQuery,
      response: {
        200: answerWithCsv('The traffic', z.object({ ...rangeFieldsSchema, traffic: trafficSchema })),
        ...refusals(...KEY_REFUSALS, 'invalid_field'),
      },
    },
    handler: async (request, reply) => {
      const range = rangeOf(request.query, deps.clock.nowMs())
      const of = { account: callerOf(request).account, domain: null }
      const traffic = await readTraffic(deps.pool, of, range)
      const fields = rangeFields(range)
      if (!wantsCsv(request, request.query.format)) return { ...fields, traffic }
      return sendCsv(reply, `traffic-${fields.from.slice(0, 10)}`, trafficCsv(traffic))
    },
  })

  app.route({
    method: 'GET',
    url: '/api/traffic/domains',
    config: { access: 'key' },
    schema: {
      operationId: 'listTrafficSummaries',
      tags: ['Traffic'],
      summary:
        'Each domain of the account by name: hit ratio of the last day and week, the last crawler, its month of renders',
      security: [{ ApiKey: [] }],
      response: {
        200: answer(
          'The domains',
          z.object({
            domains: z.array(summaryWithRendersSchema),
          }),
        ),
        ...refusals(...KEY_REFUSALS),
      },
    },
    handler: async (request) => {
      const { account, plan } = callerOf(request)
      const nowMs = deps.clock.nowMs()
      // Each asks for a connection of its own and holds none while it waits: two for half as long.
      const [summaries, renders] = await Promise.all([
        readSummaries(deps.pool, account, nowMs),
        readMonths(deps.pool, account, plan.monthly_render_limit, nowMs, deps.plans),
      ])
      const months = new Map(renders.map((month) => [month.domain, month]))
      return {
        domains: summaries.flatMap((summary) => {
          const month = months.get(summary.domain)
          return month === undefined ? [] : [{ ...summary, renders: month }]
        }),
      }
    },
  })
}
