import {
  complianceSchema,
  getMonthOfRendersQuery,
  getTrafficAnswer,
  getTrafficOfAccountAnswer,
  listTrafficSummariesAnswer,
  monthOfRendersSchema,
  rangeFields,
  rangeOf,
  rangeQuery,
  trafficPathsQuery,
  trafficPathsSchema,
  unrecognisedClientsQuery,
  unrecognisedClientsSchema,
} from '@prepaint/contract/api/traffic.ts'
import { utcDay } from '@prepaint/contract/dates.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { readCompliance } from '@prepaint/service/insight/traffic/compliance.ts'
import { readMonths, readRenders } from '@prepaint/service/insight/traffic/read-renders.ts'
import { readPaths, readSummaries } from '@prepaint/service/insight/traffic/read-summaries.ts'
import { readTraffic } from '@prepaint/service/insight/traffic/read-traffic.ts'
import { readUnrecognised } from '@prepaint/service/insight/traffic/unrecognised.ts'
import { callerOf } from '../http/access.ts'
import type { ApiApp, ApiOptions, ApiParts } from '../http/app.ts'
import { csvResponse, sendCsv, wantsCsv } from '../http/csv.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, domainRoutes } from '../http/routes.ts'
import { pathsCsv, rendersCsv, trafficCsv } from './traffic-csv.ts'

export function traffic(app: ApiApp, { clock, pool }: ApiParts, { plans }: ApiOptions): void {
  const addOfAccount = accountRoutes(app, 'Traffic')
  const add = domainRoutes(app, pool, 'Traffic')

  add('GET', 'traffic', 'getTraffic', {
    summary: 'Live traffic of a domain: by category, crawler and verdict, with hit ratio and response times',
    description:
      'Counts are a few seconds old, and up to a minute on nodes with many busy domains; hours are kept for 90 days, days for 400. ' +
      'Steps are UTC hours or days.',
    heaviness: 'read',
    query: rangeQuery,
    response: {
      200: csvResponse('The traffic', getTrafficAnswer),
    },
    handler: async (domain, request, reply) => {
      const range = rangeOf(request.query, clock.nowMs())
      const traffic = await readTraffic(pool, { account: domain.account, domains: [domain.id] }, range)
      const fields = rangeFields(range)
      if (!wantsCsv(request, request.query.format)) return { domain: domain.name, ...fields, traffic }
      return sendCsv(reply, `traffic-${domain.name}-${fields.from.slice(0, 10)}`, trafficCsv(traffic))
    },
  })

  add('GET', 'traffic/paths', 'getTrafficPaths', {
    summary: 'The paths with most requests of crawlers, and those with most failures, in whole UTC days',
    heaviness: 'read',
    query: trafficPathsQuery,
    response: { 200: csvResponse('The paths', trafficPathsSchema) },
    handler: async (domain, request, reply) => {
      const { limit, format, ...asked } = request.query
      const range = rangeOf({ ...asked, step: 'day' }, clock.nowMs())
      const days = { from: utcDay(range.fromMs), to: utcDay(range.toMs - 1) }
      const paths = await readPaths(pool, { account: domain.account, domains: [domain.id] }, days, limit)
      if (!wantsCsv(request, format)) return { domain: domain.name, ...days, ...paths }
      return sendCsv(reply, `paths-${domain.name}-${days.from}`, pathsCsv(paths))
    },
  })

  add('GET', 'compliance', 'getCompliance', {
    summary: 'Which crawlers asked for paths that robots.txt forbids them, in whole UTC days',
    description:
      'Visits are judged by the robots.txt that was served at the time. Default: the last 30 days.',
    heaviness: 'read',
    query: rangeQuery.pick({ from: true, to: true }),
    response: { 200: jsonResponse('The crawlers, those with most such visits first', complianceSchema) },
    handler: async (domain, request) => {
      const range = rangeOf({ ...request.query, step: 'day' }, clock.nowMs())
      const crawlers = await readCompliance(pool, { account: domain.account, domains: [domain.id] }, range)
      const { from, to } = rangeFields(range)
      return { domain: domain.name, from, to, crawlers }
    },
  })

  add('GET', 'traffic/unrecognised', 'getUnrecognisedClients', {
    summary: 'Clients that look automatic and are taken for no crawler, in whole UTC days',
    description:
      'They get the origin, as people do. `settings.crawlers` makes a client a crawler (`add`) or a person (`remove`): ' +
      'then it is no longer listed. Kept for 90 days. Default: the last 30 days.',
    heaviness: 'read',
    query: unrecognisedClientsQuery,
    response: { 200: jsonResponse('The clients, those with most visits first', unrecognisedClientsSchema) },
    handler: async (domain, request) => {
      const { limit, ...asked } = request.query
      const range = rangeOf({ ...asked, step: 'day' }, clock.nowMs())
      const owner = { account: domain.account, domains: [domain.id] }
      const { clients, others } = await readUnrecognised(pool, owner, range, limit)
      const days = { from: utcDay(range.fromMs), to: utcDay(range.toMs - 1) }
      const shown = clients.map(({ last_seen_at: seenAt, ...client }) => ({
        ...client,
        last_seen_at: seenAt.toISOString(),
      }))
      return { domain: domain.name, ...days, clients: shown, others }
    },
  })

  add('GET', 'traffic/renders', 'getMonthOfRenders', {
    summary: 'Renders of the current UTC month by day, the quota, and a forecast',
    description: 'The forecast adds the median of the last 7 whole days for each remaining day.',
    query: getMonthOfRendersQuery,
    response: { 200: csvResponse('The month', monthOfRendersSchema) },
    handler: async (domain, request, reply) => {
      const { plan } = callerOf(request)
      const of = { account: domain.account, domains: [domain.id] }
      const [month] = await readRenders(pool, of, plan.monthly_render_limit, clock.nowMs(), plans)
      if (month === undefined) throw new AppError('domain_not_found')
      if (!wantsCsv(request, request.query.format)) return month
      return sendCsv(reply, `renders-${domain.name}-${month.days[0]?.day.slice(0, 7)}`, rendersCsv(month))
    },
  })

  addOfAccount('GET', '/api/traffic', 'getTrafficOfAccount', {
    summary: 'Live traffic of all domains of the account',
    heaviness: 'read',
    query: rangeQuery,
    response: {
      200: csvResponse('The traffic', getTrafficOfAccountAnswer),
    },
    handler: async (scope, request, reply) => {
      const range = rangeOf(request.query, clock.nowMs())
      const traffic = await readTraffic(pool, scope, range)
      const fields = rangeFields(range)
      if (!wantsCsv(request, request.query.format)) return { ...fields, traffic }
      return sendCsv(reply, `traffic-${fields.from.slice(0, 10)}`, trafficCsv(traffic))
    },
  })

  addOfAccount('GET', '/api/traffic/domains', 'listTrafficSummaries', {
    summary:
      'Each domain of the account, by name: hit ratio of the last day and week, last crawler, renders of the month',
    heaviness: 'read',
    response: {
      200: jsonResponse('The domains', listTrafficSummariesAnswer),
    },
    handler: async (scope, request) => {
      const { plan } = callerOf(request)
      const nowMs = clock.nowMs()
      const [summaries, renders] = await Promise.all([
        readSummaries(pool, scope, nowMs),
        readMonths(pool, scope, plan.monthly_render_limit, nowMs, plans),
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
