import type pg from 'pg'
import { z } from 'zod'

import { ACTIVE_KEY_LIMIT } from '../../accounts/keys.ts'
import { readUse } from '../../accounts/plans.ts'
import { quotaEnd } from '../../accounts/quota.ts'
import { ACTIVE_TOKEN_LIMIT } from '../../accounts/tokens.ts'
import { WEBHOOK_WINDOW_REQUESTS } from '../../accounts/webhook-window.ts'
import type { Clock } from '../../clock.ts'
import { REFRESH_PATH_LIMIT } from '../cache/refresh.ts'
import { WEBHOOK_URL_LIMIT } from '../cache/webhook.ts'
import { callerOf } from '../http/access.ts'
import { answer, KEY_REFUSALS, refusals } from '../http/answer.ts'
import type { ApiApp } from '../http/app.ts'
import { apiSchema } from '../http/app.ts'
import { BODY_LIMIT_BYTES } from '../http/http-server.ts'

export const planSchema = apiSchema(
  'Plan',
  z.object({
    name: z.string().describe('Of the catalogue; one that it has no more allows nothing'),
    sites: z.object({ used: z.int(), limit: z.int().nullable().describe('null: as many as wanted') }),
    renders: z.object({
      used: z.int().describe('Of all domains in the UTC month that runs'),
      limit_per_domain: z.int().describe('For each domain in a UTC month'),
      stops_at: z.int().describe('120 %: from here on nothing is rendered for live traffic'),
    }),
    api_keys: z.object({ included: z.boolean(), used: z.int().describe('Active ones'), limit: z.int() }),
    webhooks: z.object({
      included: z.boolean(),
      used: z.int().describe('Active tokens of all domains'),
      limit_per_domain: z.int(),
      requests_per_hour: z.int().describe('Of one domain, over all its tokens'),
      urls_per_request: z.int(),
    }),
    requests: z.object({
      paths_per_refresh: z.int(),
      body_bytes: z.int(),
    }),
  }),
)

export function planGet(app: ApiApp, deps: { pool: pg.Pool; clock: Clock }): void {
  app.route({
    method: 'GET',
    url: '/api/plan',
    config: { access: 'key' },
    schema: {
      operationId: 'getPlan',
      tags: ['Plan'],
      summary: 'The plan of the account, what it allows, and how much of it is in use',
      security: [{ ApiKey: [] }],
      response: {
        200: answer('The plan', z.object({ plan: planSchema })),
        ...refusals(...KEY_REFUSALS),
      },
    },
    handler: async (request) => {
      const { account, plan } = callerOf(request)
      const nowMs = deps.clock.nowMs()
      const use = await readUse(deps.pool, account, nowMs)
      return {
        plan: {
          name: use.plan,
          sites: { used: use.domains, limit: plan.site_limit },
          renders: {
            used: use.renders,
            limit_per_domain: plan.monthly_render_limit,
            stops_at: quotaEnd(plan.monthly_render_limit),
          },
          api_keys: { included: plan.api_keys, used: use.keys, limit: ACTIVE_KEY_LIMIT },
          webhooks: {
            included: plan.webhooks,
            used: use.tokens,
            limit_per_domain: ACTIVE_TOKEN_LIMIT,
            requests_per_hour: WEBHOOK_WINDOW_REQUESTS,
            urls_per_request: WEBHOOK_URL_LIMIT,
          },
          requests: { paths_per_refresh: REFRESH_PATH_LIMIT, body_bytes: BODY_LIMIT_BYTES },
        },
      }
    },
  })
}
