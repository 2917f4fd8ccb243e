import type pg from 'pg'
import { z } from 'zod'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import { limitReached, readQuota } from '../../accounts/quota.ts'
import type { Clock } from '../../clock.ts'
import { retriedTransaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import { cancelWarm, pauseWarm, resumeWarm, startWarm } from '../../queue/warm/warm.ts'
import { readWarm } from '../../queue/warm/warm-progress.ts'
import { domainParams, ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../http/answer.ts'
import { type ApiApp, apiSchema } from '../http/app.ts'

export function warmCancel(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'DELETE',
    url: '/api/domains/:domain/warm',
    config: { access: 'key' },
    schema: {
      operationId: 'cancelWarm',
      tags: ['Cache'],
      summary: 'End the warm of a domain that is under way',
      description: 'Pages that were rendered stay, those that are being rendered are rendered to their end.',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('It has ended', warmAnswer),
        ...refusals(...KEY_REFUSALS, 'domain_not_found', 'warm_not_under_way'),
      },
    },
    handler: async (request) => {
      const { pool } = deps
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      const isCancelled = await retriedTransaction(pool, (client) => cancelWarm(client, domain.id))
      if (!isCancelled) throw new AppError('warm_not_under_way')
      return { domain: domain.name, warm: await readWarm(pool, domain.id) }
    },
  })
}

const changeSchema = z.object({
  paused: z.boolean().describe('true: what waits is taken out of the queue; false: it goes on'),
})

export function warmChange(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'PUT',
    url: '/api/domains/:domain/warm',
    config: { access: 'key' },
    schema: {
      operationId: 'changeWarm',
      tags: ['Cache'],
      summary: 'Pause the warm of a domain, or go on with it',
      description: 'Pages that are being rendered are rendered to their end.',
      security: [{ ApiKey: [] }],
      params: domainParams,
      body: changeSchema,
      response: {
        200: answer('It is so now', warmAnswer),
        ...refusals(
          ...KEY_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'domain_not_found',
          'warm_not_under_way',
        ),
      },
    },
    handler: async (request) => {
      const { pool } = deps
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      const change = request.body.paused ? pauseWarm : resumeWarm
      await retriedTransaction(pool, (client) => change(client, domain.id))
      const warm = await readWarm(pool, domain.id)
      const isUnderWay = warm !== null && warm.ended_at === null
      if (!isUnderWay) throw new AppError('warm_not_under_way')
      return { domain: domain.name, warm }
    },
  })
}

export function warmGet(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/warm',
    config: { access: 'key' },
    schema: {
      operationId: 'getWarm',
      tags: ['Cache'],
      summary: 'How far the last warm of a domain is',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('The warm under way, or the last one', warmAnswer),
        ...refusals(...KEY_REFUSALS, 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const domain = await ownedDomain(deps.pool, callerOf(request).account, request.params.domain)
      return { domain: domain.name, warm: await readWarm(deps.pool, domain.id) }
    },
  })
}

const startSchema = z
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
      body: startSchema,
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

const time = z.iso.datetime({ precision: 3 })

/** As `WarmProgress`. */
export const warmSchema = apiSchema(
  'Warm',
  z.object({
    which: z
      .enum(['all', 'outdated'])
      .describe('`outdated`: only what is not stored, stale, or older than its sitemap says'),
    state: z
      .enum(['reading', 'queueing', 'rendering', 'done', 'cancelled', 'failed'])
      .describe('First robots.txt and the sitemaps are read, then pages are queued, 2,000 at most at a time'),
    paused_at: time.nullable().describe('Null: it goes on, or is over'),
    reason: z
      .string()
      .nullable()
      .describe(
        'Why it is paused or over, where nobody wanted it: `over-quota`, `domain-inactive` or a sentence',
      ),
    started_at: time,
    ended_at: time.nullable(),
    sitemaps: z.object({
      read: z.int(),
      left: z.int(),
      failed: z.int(),
      failures: z
        .array(z.object({ path: z.string(), reason: z.string() }))
        .describe('The first of those that could not be read'),
    }),
    known: z.int().describe('Paths that were known once the sitemaps had been read; 0 until then'),
    done: z.int(),
    unchanged: z.int().describe('Of the done: the page was the same as before, and lives on'),
    failed: z.int(),
    forbidden: z.int().describe('Left out, as robots.txt of the site does not allow them to `Prepaint`'),
    passed: z.int().describe('Left out, as a rule of the domain passes them to the origin'),
    fresh: z.int().describe('Left out, as the stored copy is good; for `outdated`'),
    left: z.int().nullable().describe('Still to be rendered; null while sitemaps are read'),
    pages_per_second: z.number().nullable().describe('In the last minute; null: none'),
    seconds_left: z.int().nullable().describe('At that speed; null: nobody knows'),
  }),
)

/** What every route about it answers. */
const warmAnswer = z.object({
  domain: z.string(),
  warm: warmSchema.nullable().describe('Null: none was ever asked for'),
})
