import type pg from 'pg'
import { z } from 'zod'
import { retriedTransaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import { listOwnedDomains, type OwnedDomain } from '../../sites/domains.ts'
import { normalisePath, normalisePrefix } from '../../store/path.ts'
import { type PurgeWhat, purgeAhead, purgePages } from '../../store/purge.ts'
import { ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../http/answer.ts'
import { type ApiApp, apiSchema, type CaughtUp, domains, entries } from '../http/app.ts'

const bodySchema = z.object({
  domain: z.string().describe('Name of a domain that you own'),
  path: z
    .string()
    .startsWith('/', 'must start with /')
    .optional()
    .describe(
      'The page to purge; with a `*` at its end, every page whose path begins so. Without it: all pages',
    ),
})

export function cachePurge(app: ApiApp, deps: { pool: pg.Pool; caughtUp: CaughtUp }): void {
  app.route({
    method: 'POST',
    url: '/api/cache/purge',
    config: { access: 'key' },
    schema: {
      operationId: 'purge',
      tags: ['Cache'],
      summary: 'Delete stored pages of a domain',
      description: 'Always deletes the whole sitemap cache and redirect cache of the domain as well.',
      security: [{ ApiKey: [] }],
      body: bodySchema,
      response: {
        200: answer('Deleted', purgedSchema),
        ...refusals(...KEY_REFUSALS, ...BODY_REFUSALS, 'invalid_field', 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const domain = await ownedDomain(deps.pool, callerOf(request).account, request.body.domain)
      const what = whatToPurge(domain, request.body.path)
      const ahead = await purgeAhead(deps.pool, domain.id, what)
      const rest = await retriedTransaction(deps.pool, (client) => purgePages(client, domain.id, what))
      const keysDeleted = ahead + rest
      await deps.caughtUp()
      return { message: `Purged ${entries(keysDeleted)} of ${domain.name}`, keysDeleted }
    },
  })
}

function whatToPurge(domain: OwnedDomain, path: string | undefined): PurgeWhat {
  if (path === undefined) return { kind: 'all' }
  if (path.endsWith('*')) {
    const prefix = normalisePrefix(path.slice(0, -1))
    if (prefix !== null) return { kind: 'prefix', prefix }
  } else {
    const normalised = normalisePath(path, domain.settings.query)
    if (normalised !== null) return { kind: 'path', path: normalised }
  }
  throw new AppError('invalid_field', { word: 'path is not the path of a page' })
}

export function cachePurgeAll(app: ApiApp, deps: { pool: pg.Pool; caughtUp: CaughtUp }): void {
  app.route({
    method: 'POST',
    url: '/api/cache/purge-all',
    config: { access: 'key' },
    schema: {
      operationId: 'purgeAll',
      tags: ['Cache'],
      summary: 'Delete everything that is stored for all your domains',
      security: [{ ApiKey: [] }],
      response: { 200: answer('Deleted', purgedSchema), ...refusals(...KEY_REFUSALS, ...BODY_REFUSALS) },
    },
    handler: async (request) => {
      const owned = await listOwnedDomains(deps.pool, callerOf(request).account)
      let ahead = 0
      for (const { id } of owned) ahead += await purgeAhead(deps.pool, id, { kind: 'all' })
      const rest = await retriedTransaction(deps.pool, async (client) => {
        let deleted = 0
        for (const domain of owned) deleted += await purgePages(client, domain.id, { kind: 'all' })
        return deleted
      })
      const keysDeleted = ahead + rest
      await deps.caughtUp()
      return { message: `Purged ${entries(keysDeleted)} of ${domains(owned.length)}`, keysDeleted }
    },
  })
}

export const purgedSchema = apiSchema(
  'Purged',
  z.object({
    message: z.string(),
    keysDeleted: z.int().describe('Pages, redirects and sitemaps that were deleted'),
  }),
)
