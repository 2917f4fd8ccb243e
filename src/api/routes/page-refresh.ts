import type pg from 'pg'
import { z } from 'zod'

import { retriedTransaction } from '../../db/retried-transaction.ts'
import { AppError } from '../../errors.ts'
import { matchingPaths } from '../../pages/list-pages.ts'
import { refreshPages } from '../../queue/refresh.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import type { CaughtUp } from '../caught-up.ts'
import { domainParams } from '../domain-schema.ts'
import { ownedDomain } from '../owned-domain.ts'
import { pageChoiceSchema, searchOf } from '../page-choice.ts'
import { pagePathsOf } from '../page-paths.ts'
import { pages } from '../plural.ts'

/** Pages that one search may refresh: all are deleted and queued in one transaction. */
export const REFRESH_LIMIT = 10_000

export function pageRefresh(app: ApiApp, deps: { pool: pg.Pool; caughtUp: CaughtUp }): void {
  app.route({
    method: 'POST',
    url: '/api/domains/:domain/pages/refresh',
    config: { access: 'key' },
    schema: {
      operationId: 'refreshPages',
      tags: ['Cache'],
      summary:
        'Delete some stored pages of a domain and render them again: those that are named, or all that a search finds',
      description:
        'All or none. Crawlers that wait are served first. Each page that is stored again counts as a render.',
      security: [{ ApiKey: [] }],
      params: domainParams,
      body: pageChoiceSchema,
      response: {
        200: answer(
          'Queued',
          z.object({
            message: z.string(),
            domain: z.string(),
            pagesQueued: z.int().describe('Renders queued'),
          }),
        ),
        ...refusals(
          ...KEY_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'too_many_to_refresh',
          'domain_not_found',
          'domain_inactive',
          'queue_full',
        ),
      },
    },
    handler: async (request) => {
      const domain = await ownedDomain(deps.pool, callerOf(request).account, request.params.domain)
      const { body } = request
      const named = 'paths' in body ? pagePathsOf(domain, body.paths) : null
      const match = 'paths' in body ? null : searchOf(body)
      if (!domain.isActive) throw new AppError('domain_inactive')
      const pagesQueued = await retriedTransaction(deps.pool, async (client) => {
        const paths = named ?? (await matchingPaths(client, domain.id, match, REFRESH_LIMIT + 1))
        if (paths.length > REFRESH_LIMIT) throw new AppError('too_many_to_refresh')
        return (await refreshPages(client, domain.id, paths)).length
      })
      await deps.caughtUp()
      return {
        message: `Queued ${pages(pagesQueued)} of ${domain.name} for refresh`,
        domain: domain.name,
        pagesQueued,
      }
    },
  })
}
