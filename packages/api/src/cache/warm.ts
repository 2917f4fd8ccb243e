import { changeWarmBody, startWarmBody, warmAnswer } from '@prepaint/contract/api/warm.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { cancelWarm, pauseWarm, resumeWarm, startWarm } from '@prepaint/pages/queue/warm/warm.ts'
import { readWarm } from '@prepaint/pages/queue/warm/warm-progress.ts'
import { limitReached, readQuota } from '@prepaint/pages/quota.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type { ApiApp, ApiOptions, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'

export function warms(app: ApiApp, { clock, pool }: ApiParts, { plans }: ApiOptions): void {
  const add = domainRoutes(app, pool, 'Cache')

  add('GET', 'warm', 'getWarm', {
    summary: 'Progress of the last warm of a domain',
    response: { 200: jsonResponse('The running warm, or the last one', warmAnswer) },
    handler: async (domain) => {
      return { domain: domain.name, warm: await readWarm(pool, domain.id) }
    },
  })

  add('POST', 'warm', 'startWarm', {
    summary: 'Render all known pages of a domain without deleting them first',
    description:
      'Known pages: stored ones, those that crawlers requested in the last 30 days, and those in the sitemaps. Pages ' +
      'that robots.txt does not allow for `Prepaint` are skipped. Renders count against the monthly quota; the warm ' +
      'pauses when it is used up. A running warm starts again.',
    body: startWarmBody,
    refuses: ['domain_inactive', 'render_limit'],
    response: { 200: jsonResponse('It has started', warmAnswer) },
    handler: async (domain, request) => {
      if (!domain.isActive) throw new AppError('domain_inactive')
      const quota = await readQuota(pool, plans, domain.id, clock.nowMs())
      if (quota !== null && limitReached(quota)) throw new AppError('render_limit')
      await startWarm(pool, domain.id, request.body?.which)
      return { domain: domain.name, warm: await readWarm(pool, domain.id) }
    },
  })

  add('PUT', 'warm', 'changeWarm', {
    summary: 'Pause or continue the warm of a domain',
    description: 'Running renders are finished.',
    body: changeWarmBody,
    refuses: ['warm_not_under_way'],
    response: { 200: jsonResponse('The warm after the change', warmAnswer) },
    handler: async (domain, request) => {
      const change = request.body.paused ? pauseWarm : resumeWarm
      await retriedTransaction(pool, (client) => change(client, domain.id))
      const warm = await readWarm(pool, domain.id)
      const isUnderWay = warm !== null && warm.ended_at === null
      if (!isUnderWay) throw new AppError('warm_not_under_way')
      return { domain: domain.name, warm }
    },
  })

  add('DELETE', 'warm', 'cancelWarm', {
    summary: 'Cancel the running warm of a domain',
    description: 'Pages that were rendered stay; running renders are finished.',
    refuses: ['warm_not_under_way'],
    response: { 200: jsonResponse('The cancelled warm', warmAnswer) },
    handler: async (domain) => {
      const isCancelled = await retriedTransaction(pool, (client) => cancelWarm(client, domain.id))
      if (!isCancelled) throw new AppError('warm_not_under_way')
      return { domain: domain.name, warm: await readWarm(pool, domain.id) }
    },
  })
}
