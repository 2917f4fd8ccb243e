import { getPlanAnswer } from '@prepaint/contract/api/account.ts'
import { WEBHOOK_URL_LIMIT } from '@prepaint/contract/api/cache.ts'
import { REFRESH_PATH_LIMIT } from '@prepaint/contract/api/pages.ts'
import { quotaEnd } from '@prepaint/pages/quota.ts'
import { ACTIVE_KEY_LIMIT, ACTIVE_TOKEN_LIMIT } from '@prepaint/service/accounts/keys.ts'
import { readUse } from '@prepaint/service/accounts/plan-use.ts'
import { WEBHOOK_WINDOW_REQUESTS } from '@prepaint/service/accounts/webhook-window.ts'
import { callerOf } from '../http/access.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { BODY_LIMIT_BYTES } from '../http/http-server.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

export function plan(app: ApiApp, { clock, pool }: ApiParts): void {
  const add = accountRoutes(app, 'Plan')

  add('GET', '/api/plan', 'getPlan', {
    summary: 'The plan of the account, its limits, and how much of them is in use',
    response: { 200: jsonResponse('The plan', getPlanAnswer) },
    handler: async (scope, request) => {
      const { plan } = callerOf(request)
      const nowMs = clock.nowMs()
      const use = await readUse(pool, scope, nowMs)
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
