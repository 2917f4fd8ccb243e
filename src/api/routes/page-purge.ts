import type pg from 'pg'

import { retriedTransaction } from '../../db/retried-transaction.ts'
import { AppError } from '../../errors.ts'
import { matchingPaths } from '../../pages/list-pages.ts'
import { type PurgeWhat, purgePages } from '../../pages/purge.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import type { CaughtUp } from '../caught-up.ts'
import { domainParams } from '../domain-schema.ts'
import { ownedDomain } from '../owned-domain.ts'
import { pageChoiceSchema, searchOf } from '../page-choice.ts'
import { pagePathsOf } from '../page-paths.ts'
import { entries } from '../plural.ts'
import { purgedSchema } from '../purged-schema.ts'

/** Pages that one search may purge: their rows are locked until all of them are gone. */
export const PURGE_LIMIT = 100_000

export function pagePurge(app: ApiApp, deps: { pool: pg.Pool; caughtUp: CaughtUp }): void {
  app.route({
    method: 'POST',
    url: '/api/domains/:domain/pages/purge',
    config: { access: 'key' },
    schema: {
      operationId: 'purgePages',
      tags: ['Cache'],
      summary: 'Delete some stored pages of a domain: those that are named, or all that a search finds',
      description:
        'All or none. Always deletes the whole sitemap cache and redirect cache of the domain as well.',
      security: [{ ApiKey: [] }],
      params: domainParams,
      body: pageChoiceSchema,
      response: {
        200: answer('Deleted', purgedSchema),
        ...refusals(
          ...KEY_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'too_many_to_purge',
          'domain_not_found',
        ),
      },
    },
    handler: async (request) => {
      const domain = await ownedDomain(deps.pool, callerOf(request).account, request.params.domain)
      const { body } = request
      const what: PurgeWhat =
        'paths' in body
          ? { kind: 'paths', paths: pagePathsOf(domain, body.paths) }
          : { kind: 'matching', match: searchOf(body) }
      const keysDeleted = await retriedTransaction(deps.pool, async (client) => {
        if (what.kind === 'matching') {
          const paths = await matchingPaths(client, domain.id, what.match, PURGE_LIMIT + 1)
          if (paths.length > PURGE_LIMIT) throw new AppError('too_many_to_purge')
        }
        return purgePages(client, domain.id, what)
      })
      await deps.caughtUp()
      return { message: `Purged ${entries(keysDeleted)} of ${domain.name}`, keysDeleted }
    },
  })
}
