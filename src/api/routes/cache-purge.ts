import type pg from 'pg'
import { z } from 'zod'

import type { OwnedDomain } from '../../accounts/domains.ts'
import { retriedTransaction } from '../../db/retried-transaction.ts'
import { AppError } from '../../errors.ts'
import { normalisePath, normalisePrefix } from '../../pages/path.ts'
import { type PurgeWhat, purgePages } from '../../pages/purge.ts'
import { purgeAhead } from '../../pages/purge-ahead.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import type { CaughtUp } from '../caught-up.ts'
import { ownedDomain } from '../owned-domain.ts'
import { entries } from '../plural.ts'
import { purgedSchema } from '../purged-schema.ts'

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
