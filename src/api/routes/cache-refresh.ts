import type pg from 'pg'
import { z } from 'zod'

import { retriedTransaction } from '../../db/retried-transaction.ts'
import { AppError } from '../../errors.ts'
import { refreshPages } from '../../queue/refresh.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import type { CaughtUp } from '../caught-up.ts'
import { queuedJobSchema } from '../job-schema.ts'
import { ownedDomain } from '../owned-domain.ts'
import { pagePathsOf, pathsSchema } from '../page-paths.ts'
import { pages } from '../plural.ts'

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
