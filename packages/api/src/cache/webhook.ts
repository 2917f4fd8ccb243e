import { WEBHOOK_URL_LIMIT, webhookRefreshAnswer, webhookRefreshBody } from '@prepaint/contract/api/cache.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { PagePath } from '@prepaint/contract/ids.ts'
import { normalisePath, type QueryRule } from '@prepaint/contract/page/path.ts'
import { readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import { refreshPages } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { startWarm } from '@prepaint/pages/queue/warm/warm.ts'
import { limitReached, readQuota } from '@prepaint/pages/quota.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import { tokenOwnerOf } from '../http/access.ts'
import { type ApiApp, type ApiOptions, type ApiParts, countText } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'

type WebhookBody = { kind: 'urls'; urls: readonly unknown[] } | { kind: 'all' }

export function webhook(app: ApiApp, { caughtUp, clock, pool }: ApiParts, { plans }: ApiOptions): void {
  app.route({
    method: 'POST',
    url: '/api/webhook/refresh',
    config: {
      access: 'token',
      refuses: [
        'webhook_body_missing',
        'webhook_too_many_urls',
        'webhook_no_valid_paths',
        'render_limit',
        'queue_full',
      ],
    },
    schema: {
      operationId: 'webhookRefresh',
      tags: ['Webhook'],
      summary: 'Refresh pages of the domain that the token belongs to',
      description:
        'Checked in this order: header, token, plan, active, rate, body, quota. From the rate check on, every request ' +
        'counts toward the limit of 10 per hour. A 429 has `Retry-After` in seconds.',
      body: webhookRefreshBody,
      response: { 200: jsonResponse('Queued', webhookRefreshAnswer) },
    },
    // The schema only documents: each error has its own text in the API contract.
    validatorCompiler: () => (value: unknown) => ({ value }),
    handler: async (request) => {
      const owner = tokenOwnerOf(request)
      const wanted = readWebhookBody(request.body)
      const sorted =
        wanted.kind === 'all' ? null : sortUrls(wanted.urls, readDomainSettings(owner.settings).query)
      const quota = await readQuota(pool, plans, owner.domain, clock.nowMs())
      // The domain and its tokens were just deleted.
      if (quota === null) throw new AppError('invalid_token')
      if (limitReached(quota)) throw new AppError('render_limit')

      if (sorted === null) {
        await startWarm(pool, owner.domain)
        return { message: `Started a full cache warm of ${owner.name}`, domain: owner.name }
      }
      const jobs = await retriedTransaction(pool, (client) =>
        refreshPages(client, owner.domain, sorted.paths),
      )
      await caughtUp()
      const answer = {
        message: `Queued ${countText(jobs.length, 'page')} of ${owner.name} for refresh`,
        domain: owner.name,
        pagesQueued: jobs.length,
      }
      return sorted.ignored.length === 0 ? answer : { ...answer, ignored: sorted.ignored }
    },
  })
}

/** Throws `webhook_body_missing` or `webhook_too_many_urls`. */
function readWebhookBody(body: unknown): WebhookBody {
  if (typeof body !== 'object' || body === null) throw new AppError('webhook_body_missing')
  const { urls, all } = body as { urls?: unknown; all?: unknown }
  if (all === true && urls === undefined) return { kind: 'all' }
  if (!Array.isArray(urls) || all === true) throw new AppError('webhook_body_missing')
  if (urls.length > WEBHOOK_URL_LIMIT) throw new AppError('webhook_too_many_urls')
  return { kind: 'urls', urls }
}

/** Unique stored paths among `urls`, and the other entries. Throws `webhook_no_valid_paths`. */
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
