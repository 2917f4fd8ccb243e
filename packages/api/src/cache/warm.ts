import { apiSchema } from '@prepaint/contract/api/api-schema.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { cancelWarm, pauseWarm, resumeWarm, startWarm } from '@prepaint/pages/queue/warm/warm.ts'
import { readWarm } from '@prepaint/pages/queue/warm/warm-progress.ts'
import { limitReached, readQuota } from '@prepaint/pages/quota.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import { z } from 'zod'
import type { ApiApp, ApiDeps } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'

const changeSchema = z.object({
  paused: z.boolean().describe('true: removes the waiting jobs from the queue; false: continues'),
})

const startSchema = z
  .object({
    which: z
      .enum(['all', 'outdated'])
      .optional()
      .describe(
        '`outdated`: only pages that are not stored, stale, or older than their sitemap says. Default: `all`',
      ),
  })
  .nullish()

const time = z.iso.datetime({ precision: 3 })

export const warmSchema = apiSchema(
  'Warm',
  z.object({
    which: z
      .enum(['all', 'outdated'])
      .describe('`outdated`: only pages that are not stored, stale, or older than their sitemap says'),
    state: z
      .enum(['reading', 'queueing', 'rendering', 'done', 'cancelled', 'failed'])
      .describe('robots.txt and the sitemaps are read first, then pages are queued, at most 2,000 at a time'),
    paused_at: time.nullable().describe('Null: not paused'),
    reason: z
      .string()
      .nullable()
      .describe(
        'Why it was paused or ended without a request for that: `over-quota`, `domain-inactive` or a sentence',
      ),
    started_at: time,
    ended_at: time.nullable(),
    sitemaps: z.object({
      read: z.int(),
      left: z.int(),
      failed: z.int(),
      failures: z
        .array(z.object({ path: z.string(), reason: z.string() }))
        .describe('The first sitemaps that could not be read'),
    }),
    known: z.int().describe('Known paths, once the sitemaps are read; 0 until then'),
    done: z.int(),
    unchanged: z.int().describe('Of `done`: pages that had not changed'),
    failed: z.int(),
    forbidden: z.int().describe('Skipped: robots.txt does not allow them for `Prepaint`'),
    passed: z.int().describe('Skipped: a rule of the domain passes them to the origin'),
    fresh: z.int().describe('Skipped by `outdated`: the stored page is up to date'),
    left: z.int().nullable().describe('Still to be rendered; null while sitemaps are read'),
    pages_per_second: z.number().nullable().describe('In the last minute; null: none were rendered'),
    seconds_left: z.int().nullable().describe('At that speed; null: unknown'),
  }),
)

const warmAnswer = z.object({
  domain: z.string(),
  warm: warmSchema.nullable().describe('Null: there never was one'),
})

export function warms(app: ApiApp, deps: ApiDeps): void {
  const { clock, plans, pool } = deps
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
    body: startSchema,
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
    body: changeSchema,
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
