import type pg from 'pg'
import { z } from 'zod'

import { listOwnedDomains } from '../../accounts/domains.ts'
import { retriedTransaction } from '../../db/retried-transaction.ts'
import { refreshPages } from '../../queue/refresh.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import type { CaughtUp } from '../caught-up.ts'
import { queuedDomainJobSchema } from '../job-schema.ts'
import { pagePathsOf, pathsSchema } from '../page-paths.ts'
import { domains, pages } from '../plural.ts'

const DEFAULT_PATHS = ['/']

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
        paths: pagePathsOf(domain, request.body.paths ?? DEFAULT_PATHS),
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
