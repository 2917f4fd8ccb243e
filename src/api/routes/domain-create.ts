import type pg from 'pg'
import { z } from 'zod'

import { checkSiteLimit, createDomain } from '../../accounts/domain-changes.ts'
import { parseDomainName } from '../../accounts/domain-name.ts'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import type { CaughtUp } from '../caught-up.ts'
import { domainSchema } from '../domain-schema.ts'
import type { CheckOrigin } from '../origin-check.ts'

const bodySchema = z.object({
  custom_domain: z.string().describe('Name to register; IDN is turned into punycode'),
  origin_url: z.string().describe('Scheme, host and port of the site; no internal address'),
})

type Deps = {
  pool: pg.Pool
  plans: PlanCatalogue
  clock: Clock
  checkOrigin: CheckOrigin
  caughtUp: CaughtUp
}

export function domainCreate(app: ApiApp, deps: Deps): void {
  app.route({
    method: 'POST',
    url: '/api/domains',
    config: { access: 'key' },
    schema: {
      operationId: 'createDomain',
      tags: ['Domains'],
      summary: 'Register a domain',
      description:
        'Checked in this order: key, plan, site limit, required fields, domain name, origin, already registered.',
      security: [{ ApiKey: [] }],
      body: bodySchema,
      response: {
        201: answer('The new domain', z.object({ domain: domainSchema })),
        ...refusals(
          ...KEY_REFUSALS,
          'site_limit',
          ...BODY_REFUSALS,
          'missing_domain_fields',
          'invalid_field',
          'invalid_custom_domain',
          'invalid_origin',
          'domain_exists',
        ),
      },
    },
    // The site limit comes before the body is even read.
    onRequest: async (request) => checkSiteLimit(deps.pool, deps.plans, callerOf(request).account),
    attachValidation: true,
    handler: async (request, reply) => {
      if (lacksFields(request.body)) throw new AppError('missing_domain_fields')
      if (request.validationError !== undefined) throw request.validationError

      const name = parseDomainName(request.body.custom_domain)
      if (!name.ok) throw new AppError('invalid_custom_domain', { word: name.reason })
      const origin = await deps.checkOrigin(request.body.origin_url)
      if (!origin.ok) throw new AppError('invalid_origin', { word: origin.reason })

      const { account } = callerOf(request)
      const view = { plans: deps.plans, nowMs: deps.clock.nowMs() }
      const input = { name: name.name, originUrl: origin.originUrl }
      const domain = await createDomain(deps.pool, account, input, view)
      await deps.caughtUp()
      reply.code(201)
      return { domain }
    },
  })
}

/** No body, one that is no object, or a field that is absent, null or empty. */
function lacksFields(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return true
  const fields = body as Record<string, unknown>
  return ['custom_domain', 'origin_url'].some((field) => (fields[field] ?? '') === '')
}
