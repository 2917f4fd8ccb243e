import type pg from 'pg'
import { z } from 'zod'

import { updateDomain } from '../../accounts/domain-changes.ts'
import { domainSettingsPatchSchema } from '../../accounts/domain-settings.ts'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import type { CaughtUp } from '../caught-up.ts'
import { domainParams, domainWithSettingsSchema } from '../domain-schema.ts'
import type { CheckOrigin } from '../origin-check.ts'
import { ownedDomain } from '../owned-domain.ts'

const bodySchema = z
  .object({
    origin_url: z.string().optional().describe('Scheme, host and port of the site; no internal address'),
    is_active: z.boolean().optional(),
    settings: domainSettingsPatchSchema.optional().describe('Fields that are absent stay as they are'),
  })
  .describe('At least one of the fields; those that are absent stay as they are')

type Deps = {
  pool: pg.Pool
  plans: PlanCatalogue
  clock: Clock
  checkOrigin: CheckOrigin
  caughtUp: CaughtUp
}

export function domainUpdate(app: ApiApp, deps: Deps): void {
  app.route({
    method: 'PUT',
    url: '/api/domains/:domain',
    config: { access: 'key' },
    schema: {
      operationId: 'updateDomain',
      tags: ['Domains'],
      summary: 'Change origin, activity or settings of a domain',
      security: [{ ApiKey: [] }],
      params: domainParams,
      body: bodySchema,
      response: {
        200: answer('The domain after the change', z.object({ domain: domainWithSettingsSchema })),
        ...refusals(...KEY_REFUSALS, ...BODY_REFUSALS, 'invalid_field', 'invalid_origin', 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const { origin_url: rawOrigin, is_active: isActive, settings } = request.body
      if (rawOrigin === undefined && isActive === undefined && settings === undefined) {
        throw new AppError('invalid_field', { word: 'origin_url, is_active or settings is required' })
      }
      const { account } = callerOf(request)
      // Before the origin is looked up: for a stranger's domain nothing is done at all.
      const domain = await ownedDomain(deps.pool, account, request.params.domain)
      const originUrl = rawOrigin === undefined ? undefined : await checkedOrigin(deps.checkOrigin, rawOrigin)
      const view = { plans: deps.plans, nowMs: deps.clock.nowMs() }
      const change = { originUrl, isActive, settings }
      const changed = await updateDomain(deps.pool, account, domain.name, change, view)
      await deps.caughtUp()
      return { domain: changed }
    },
  })
}

async function checkedOrigin(check: CheckOrigin, raw: string): Promise<string> {
  const origin = await check(raw)
  if (!origin.ok) throw new AppError('invalid_origin', { word: origin.reason })
  return origin.originUrl
}
