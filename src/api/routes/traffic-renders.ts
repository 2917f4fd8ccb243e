import type pg from 'pg'
import { z } from 'zod'

import type { PlanCatalogue } from '../../accounts/plans.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { readRenders } from '../../traffic/read-renders.ts'
import { callerOf } from '../access.ts'
import { KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { answerWithCsv, formatParam, sendCsv, wantsCsv } from '../csv-answer.ts'
import { domainParams } from '../domain-schema.ts'
import { ownedDomain } from '../owned-domain.ts'
import { rendersCsv } from '../traffic-csv.ts'
import { monthOfRendersSchema } from '../traffic-schema.ts'

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
