import { createHash } from 'node:crypto'
import type pg from 'pg'
import { AppError } from '../../errors.ts'
import { readSnapshot } from '../../sites/inspection/side.ts'
import { domainParams, ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { KEY_REFUSALS, refusals, textAnswer } from '../http/answer.ts'
import type { ApiApp } from '../http/app.ts'
import { onePage, onePageQuery } from './page-choice.ts'

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
      const snapshot = await readSnapshot(deps.pool, onePage(domain, request.query.path))
      if (snapshot?.kind !== 'page') throw new AppError('page_not_found')
      return reply
        .header('Content-Security-Policy', STRANGERS_POLICY)
        .type('text/plain; charset=utf-8')
        .send(snapshot.html)
    },
  })
}

/** What a page of ours may load: the one style sheet in it, named by its hash, and nothing else. */
export function pagePolicy(style: string): string {
  const hash = createHash('sha256').update(style).digest('base64')
  return `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
}
