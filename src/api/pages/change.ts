import type pg from 'pg'
import { z } from 'zod'
import { retriedTransaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import { refreshPages } from '../../queue/jobs/enqueue.ts'
import { matchingPaths } from '../../store/list-pages.ts'
import { type PurgeWhat, purgePages } from '../../store/purge.ts'
import { purgedSchema } from '../cache/purge.ts'
import { pagePathsOf } from '../cache/refresh.ts'
import { domainParams, ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../http/answer.ts'
import { type ApiApp, type CaughtUp, entries, pages } from '../http/app.ts'
import { pageChoiceSchema, searchOf } from './page-choice.ts'

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
