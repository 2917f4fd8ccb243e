import type pg from 'pg'
import { z } from 'zod'
import { retriedTransaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import type { PagePath } from '../../ids.ts'
import { refreshPages } from '../../queue/jobs/enqueue.ts'
import { listOwnedDomains, type OwnedDomain } from '../../sites/domains.ts'
import { normalisePath } from '../../store/path.ts'
import { ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../http/answer.ts'
import { type ApiApp, type CaughtUp, domains, pages } from '../http/app.ts'
import { queuedDomainJobSchema, queuedJobSchema } from './jobs.ts'

export const REFRESH_PATH_LIMIT = 1_000

/** `paths` of a refresh. */
export const pathsSchema = z
  .array(z.string().startsWith('/', 'must start with /'))
  .min(1)
  .max(REFRESH_PATH_LIMIT)
  .describe('Paths beginning with `/`; duplicates are joined')

/**
 * Paths as they are stored for this domain, each once, in the order given.
 * Throws `invalid_field` with the first that cannot be the path of a page.
 */
export function pagePathsOf(domain: OwnedDomain, paths: readonly string[]): PagePath[] {
  const found = paths.map((raw, index) => {
    const path = normalisePath(raw, domain.settings.query)
    if (path === null)
      throw new AppError('invalid_field', { word: `paths[${index}] is not the path of a page` })
    return path
  })
  return [...new Set(found)]
}

export const DEFAULT_PATHS = ['/', '/about', '/contact', '/shop']

const bodySchema = z.object({
  domain: z.string().describe('Name of a domain that you own'),
  paths: pathsSchema.optional(),
})

export function cacheRefresh(app: ApiApp, deps: { pool: pg.Pool; caughtUp: CaughtUp }): void {
  app.route({
    method: 'POST',
    url: '/api/cache/refresh',
    config: { access: 'key' },
    schema: {
      operationId: 'refresh',
      tags: ['Cache'],
      summary: 'Delete stored pages of a domain and render them again',
      description: `Without \`paths\`: ${DEFAULT_PATHS.map((path) => `\`${path}\``).join(', ')}. Crawlers that wait are served first.`,
      security: [{ ApiKey: [] }],
      body: bodySchema,
      response: {
        200: answer(
          'The jobs',
          z.object({ message: z.string(), domain: z.string(), jobs: z.array(queuedJobSchema) }),
        ),
        ...refusals(
          ...KEY_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'domain_not_found',
          'domain_inactive',
          'queue_full',
        ),
      },
    },
    handler: async (request) => {
      const domain = await ownedDomain(deps.pool, callerOf(request).account, request.body.domain)
      const paths = pagePathsOf(domain, request.body.paths ?? DEFAULT_PATHS)
      if (!domain.isActive) throw new AppError('domain_inactive')
      const jobs = await retriedTransaction(deps.pool, (client) => refreshPages(client, domain.id, paths))
      await deps.caughtUp()
      return {
        message: `Queued ${pages(jobs.length)} of ${domain.name} for refresh`,
        domain: domain.name,
        jobs,
      }
    },
  })
}

const DEFAULT_PATHS_OF_ALL = ['/']

const answerSchema = z.object({
  message: z.string(),
  totalDomains: z.int(),
  totalJobs: z.int(),
  jobs: z.array(queuedDomainJobSchema),
})

export function cacheRefreshAll(app: ApiApp, deps: { pool: pg.Pool; caughtUp: CaughtUp }): void {
  app.route({
    method: 'POST',
    url: '/api/cache/refresh-all',
    config: { access: 'key' },
    schema: {
      operationId: 'refreshAll',
      tags: ['Cache'],
      summary: 'Delete stored pages of all your active domains and render them again',
      description: 'Without `paths`: `/` of each domain.',
      security: [{ ApiKey: [] }],
      body: z.object({ paths: pathsSchema.optional() }),
      response: {
        200: answer('The jobs', answerSchema),
        ...refusals(...KEY_REFUSALS, ...BODY_REFUSALS, 'invalid_field', 'queue_full'),
      },
    },
    handler: async (request) => {
      const owned = await listOwnedDomains(deps.pool, callerOf(request).account)
      const active = owned.filter((domain) => domain.isActive)
      const wanted = active.map((domain) => ({
        domain,
        paths: pagePathsOf(domain, request.body.paths ?? DEFAULT_PATHS_OF_ALL),
      }))
      // All or nothing: a queue that fills up halfway leaves every page where it was.
      const jobs = await retriedTransaction(deps.pool, async (client) => {
        const queued = []
        for (const { domain, paths } of wanted) {
          const ofDomain = await refreshPages(client, domain.id, paths)
          queued.push(...ofDomain.map((job) => ({ domain: domain.name, ...job })))
        }
        return queued
      })
      await deps.caughtUp()
      return {
        message: `Queued ${pages(jobs.length)} of ${domains(active.length)} for refresh`,
        totalDomains: active.length,
        totalJobs: jobs.length,
        jobs,
      }
    },
  })
}
