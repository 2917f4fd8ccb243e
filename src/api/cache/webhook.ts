import type pg from 'pg'
import { z } from 'zod'
import type { TokenOwner } from '../../accounts/access.ts'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import { limitReached, readQuota } from '../../accounts/quota.ts'
import type { Clock } from '../../clock.ts'
import { retriedTransaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import type { PagePath } from '../../ids.ts'
import { refreshPages } from '../../queue/jobs/enqueue.ts'
import { startWarm } from '../../queue/warm/warm.ts'
import { readDomainSettings } from '../../sites/domain-settings.ts'
import { normalisePath, type QueryRule } from '../../store/path.ts'
import { tokenOwnerOf } from '../http/access.ts'
import { answer, BODY_REFUSALS, refusals } from '../http/answer.ts'
import { type ApiApp, type CaughtUp, pages } from '../http/app.ts'

export const WEBHOOK_URL_LIMIT = 20

/** What a webhook asks for. `urls` are not looked at yet. */
type WebhookBody = { kind: 'urls'; urls: readonly unknown[] } | { kind: 'all' }

/** Throws `webhook_body_missing` for anything but one of the two forms, also for both at once; `webhook_too_many_urls`. */
function readWebhookBody(body: unknown): WebhookBody {
  if (typeof body !== 'object' || body === null) throw new AppError('webhook_body_missing')
  const { urls, all } = body as { urls?: unknown; all?: unknown }
  if (all === true && urls === undefined) return { kind: 'all' }
  if (!Array.isArray(urls) || all === true) throw new AppError('webhook_body_missing')
  if (urls.length > WEBHOOK_URL_LIMIT) throw new AppError('webhook_too_many_urls')
  return { kind: 'urls', urls }
}

/**
 * The paths among `urls` in the spelling of stored paths, each once, and what
 * is none. Throws `webhook_no_valid_paths` when nothing is left.
 */
function sortUrls(urls: readonly unknown[], query: QueryRule): { paths: PagePath[]; ignored: string[] } {
  const paths = new Set<PagePath>()
  const ignored: string[] = []
  for (const url of urls) {
    const path = typeof url === 'string' ? normalisePath(url, query) : null
    if (path !== null) paths.add(path)
    else ignored.push(typeof url === 'string' ? url : JSON.stringify(url))
  }
  if (paths.size === 0) throw new AppError('webhook_no_valid_paths')
  return { paths: [...paths], ignored }
}

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
