import type pg from 'pg'
import { z } from 'zod'

import type { PlanCatalogue } from '../../accounts/plans.ts'
import { limitReached, readQuota } from '../../accounts/quota.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { startWarm } from '../../queue/warm.ts'
import { readWarm } from '../../queue/warm-progress.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { domainParams } from '../domain-schema.ts'
import { ownedDomain } from '../owned-domain.ts'
import { warmAnswer } from '../warm-schema.ts'

const bodySchema = z
  .object({
    which: z
      .enum(['all', 'outdated'])
      .optional()
      .describe('`outdated`: only what is not stored, stale, or older than its sitemap says; without: `all`'),
  })
  .nullish()

export function warmStart(app: ApiApp, deps: { pool: pg.Pool; plans: PlanCatalogue; clock: Clock }): void {
  app.route({
    method: 'POST',
    url: '/api/domains/:domain/warm',
    config: { access: 'key' },
    schema: {
      operationId: 'startWarm',
      tags: ['Cache'],
      summary: 'Render all known pages of a domain, deleting none',
      description:
        'Known are pages that are stored, that crawlers asked for in the last 30 days, and those of the sitemaps, which ' +
        'are read first. What the robots.txt of the site does not allow to `Prepaint` is left out. Renders count against ' +
        'the month; at its limit the warm pauses. One that is under way begins anew.',
      security: [{ ApiKey: [] }],
      params: domainParams,
      body: bodySchema,
      response: {
        200: answer('It has begun', warmAnswer),
        ...refusals(
          ...KEY_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'domain_not_found',
          'domain_inactive',
          'render_limit',
        ),
      },
    },
    handler: async (request) => {
      const domain = await ownedDomain(deps.pool, callerOf(request).account, request.params.domain)
      if (!domain.isActive) throw new AppError('domain_inactive')
      const quota = await readQuota(deps.pool, deps.plans, domain.id, deps.clock.nowMs())
      if (quota !== null && limitReached(quota)) throw new AppError('render_limit')
      await startWarm(deps.pool, domain.id, request.body?.which)
      return { domain: domain.name, warm: await readWarm(deps.pool, domain.id) }
    },
  })
}
