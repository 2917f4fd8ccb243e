import type pg from 'pg'
import { z } from 'zod'

import { readDomainSettings } from '../../accounts/domain-settings.ts'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import { limitReached, readQuota } from '../../accounts/quota.ts'
import type { TokenOwner } from '../../accounts/secret-check.ts'
import type { Clock } from '../../clock.ts'
import { retriedTransaction } from '../../db/retried-transaction.ts'
import { AppError } from '../../errors.ts'
import { refreshPages } from '../../queue/refresh.ts'
import { startWarm } from '../../queue/warm.ts'
import { tokenOwnerOf } from '../access.ts'
import { answer, BODY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import type { CaughtUp } from '../caught-up.ts'
import { pages } from '../plural.ts'
import { readWebhookBody, sortUrls, WEBHOOK_URL_LIMIT } from '../webhook-body.ts'

const bodySchema = z.union([
  z.object({
    urls: z.array(z.string()).min(1).max(WEBHOOK_URL_LIMIT).describe('Paths beginning with `/`'),
  }),
  z.object({ all: z.literal(true).describe('Render all known paths again') }),
])

const answerSchema = z.object({
  message: z.string(),
  domain: z.string(),
  pagesQueued: z.int().optional().describe('For `urls` only'),
  ignored: z.array(z.string()).optional().describe('Entries of `urls` that are no paths, if there are some'),
})

type Deps = { pool: pg.Pool; plans: PlanCatalogue; clock: Clock; caughtUp: CaughtUp }

export function webhookRefresh(app: ApiApp, deps: Deps): void {
  app.route({
    method: 'POST',
    url: '/api/webhook/refresh',
    config: { access: 'token' },
    schema: {
      operationId: 'webhookRefresh',
      tags: ['Webhook'],
      summary: 'Refresh pages of the domain that the token belongs to',
      description:
        'Checked in this order: header, token, plan, active, rate, body, quota. Every request counts in the window of ' +
        '10 an hour from the rate check on. A 429 carries `Retry-After` in seconds.',
      security: [{ WebhookToken: [] }],
      body: bodySchema,
      response: {
        200: answer('Queued', answerSchema),
        ...refusals(
          'webhook_header_missing',
          'invalid_token',
          'plan_without_webhooks',
          'domain_inactive',
          'webhook_rate',
          'too_many_failures',
          'too_many_requests',
          ...BODY_REFUSALS,
          'webhook_body_missing',
          'webhook_too_many_urls',
          'webhook_no_valid_paths',
          'render_limit',
          'queue_full',
          'internal',
        ),
      },
    },
    // The schema is for the document: the contract has texts of its own for each mistake.
    validatorCompiler: () => (value: unknown) => ({ value }),
    handler: async (request) => {
      const owner = tokenOwnerOf(request)
      const wanted = readWebhookBody(request.body)
      const sorted =
        wanted.kind === 'all' ? null : sortUrls(wanted.urls, readDomainSettings(owner.settings).query)
      await checkQuota(deps, owner)

      if (sorted === null) {
        await startWarm(deps.pool, owner.domain)
        return { message: `Started a full cache warm of ${owner.name}`, domain: owner.name }
      }
      const jobs = await retriedTransaction(deps.pool, (client) =>
        refreshPages(client, owner.domain, sorted.paths),
      )
      await deps.caughtUp()
      return {
        message: `Queued ${pages(jobs.length)} of ${owner.name} for refresh`,
        domain: owner.name,
        pagesQueued: jobs.length,
        ...(sorted.ignored.length === 0 ? {} : { ignored: sorted.ignored }),
      }
    },
  })
}

async function checkQuota(deps: Deps, owner: TokenOwner): Promise<void> {
  const quota = await readQuota(deps.pool, deps.plans, owner.domain, deps.clock.nowMs())
  // Deleted a moment ago, and its tokens with it.
  if (quota === null) throw new AppError('invalid_token')
  if (limitReached(quota)) throw new AppError('render_limit')
}
