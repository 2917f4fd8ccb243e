import type pg from 'pg'
import { z } from 'zod'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import { type Clock, utcDay } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { readMonths, readRenders } from '../../insight/traffic/read-renders.ts'
import { readPaths, readSummaries } from '../../insight/traffic/read-summaries.ts'
import { readTraffic } from '../../insight/traffic/read-traffic.ts'
import { domainParams, ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { answer, KEY_REFUSALS, refusals } from '../http/answer.ts'
import type { ApiApp } from '../http/app.ts'
import { answerWithCsv, formatParam, sendCsv, wantsCsv } from '../http/csv.ts'
import { pathsCsv, rendersCsv, trafficCsv } from './traffic-csv.ts'
import {
  monthOfRendersSchema,
  rangeFields,
  rangeFieldsSchema,
  rangeOf,
  rangeQuery,
  trafficPathsSchema,
  trafficSchema,
  trafficSummarySchema,
} from './traffic-schema.ts'

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

export function trafficRenders(
  app: ApiApp,
  deps: { pool: pg.Pool; plans: PlanCatalogue; clock: Clock },
): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/traffic/renders',
    config: { access: 'key' },
    schema: {
      operationId: 'getMonthOfRenders',
      tags: ['Traffic'],
      summary: 'Renders of the UTC month that runs by day, against the quota, with what the month comes to',
      description:
        'The forecast is the renders until now, and for each day that is left the median of the last 7 whole days.',
      security: [{ ApiKey: [] }],
      params: domainParams,
      querystring: z.object({ format: formatParam }),
      response: {
        200: answerWithCsv('The month', monthOfRendersSchema),
        ...refusals(...KEY_REFUSALS, 'invalid_field', 'domain_not_found'),
      },
    },
    handler: async (request, reply) => {
      const { account, plan } = callerOf(request)
      const domain = await ownedDomain(deps.pool, account, request.params.domain)
      const of = { account, domain: domain.id }
      const [month] = await readRenders(
        deps.pool,
        of,
        plan.monthly_render_limit,
        deps.clock.nowMs(),
        deps.plans,
      )
      if (month === undefined) throw new AppError('domain_not_found')
      if (!wantsCsv(request, request.query.format)) return month
      return sendCsv(reply, `renders-${domain.name}-${month.days[0]?.day.slice(0, 7)}`, rendersCsv(month))
    },
  })
}
