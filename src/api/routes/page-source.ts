import type pg from 'pg'

import { AppError } from '../../errors.ts'
import { readSnapshot } from '../../lens/snapshot.ts'
import { callerOf } from '../access.ts'
import { KEY_REFUSALS, refusals, textAnswer } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { domainParams } from '../domain-schema.ts'
import { onePagePath, onePageQuery } from '../one-page.ts'
import { ownedDomain } from '../owned-domain.ts'

/** A stranger's document, at our address: text and nothing else, whatever a browser might make of it. */
export const STRANGERS_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"

export function pageSource(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/pages/source',
    config: { access: 'key' },
    schema: {
      operationId: 'readPageSource',
      tags: ['Pages'],
      summary: 'The HTML of a stored page as a crawler gets it, as plain text',
      security: [{ ApiKey: [] }],
      params: domainParams,
      querystring: onePageQuery,
      response: {
        200: textAnswer('The HTML'),
        ...refusals(...KEY_REFUSALS, 'invalid_field', 'domain_not_found', 'page_not_found'),
      },
    },
    handler: async (request, reply) => {
      const domain = await ownedDomain(deps.pool, callerOf(request).account, request.params.domain)
      const snapshot = await readSnapshot(deps.pool, domain.id, onePagePath(domain, request.query.path))
      if (snapshot?.kind !== 'page') throw new AppError('page_not_found')
      return reply
        .header('Content-Security-Policy', STRANGERS_POLICY)
        .type('text/plain; charset=utf-8')
        .send(snapshot.html)
    },
  })
}
