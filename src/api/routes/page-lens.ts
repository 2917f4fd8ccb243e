import type pg from 'pg'
import { z } from 'zod'

import type { Clock } from '../../clock.ts'
import { listDigests } from '../../lens/digests.ts'
import { lastInspection } from '../../lens/inspections.ts'
import { readSnapshot, storedFacts } from '../../lens/snapshot.ts'
import { findListed } from '../../pages/list-pages.ts'
import { rendersOfPage } from '../../queue/render-records.ts'
import { callerOf } from '../access.ts'
import { answer, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { domainParams } from '../domain-schema.ts'
import { digestSchema, digestView, factsSchema, inspectionSchema, inspectionView } from '../lens-schema.ts'
import { listedPageSchema, listedPageView } from '../listed-page-schema.ts'
import { onePagePath, onePageQuery } from '../one-page.ts'
import { ownedDomain } from '../owned-domain.ts'
import { renderSchema } from '../render-schema.ts'

export const lensSchema = z.object({
  domain: z.string(),
  path: z.string().describe('As it is stored'),
  stored: listedPageSchema
    .extend({
      etag: z.string(),
      headers: z.array(z.tuple([z.string(), z.string()])).describe('That crawlers get with it, beside ours'),
    })
    .nullable()
    .describe('null: nothing is stored under this path'),
  redirect: z
    .object({ status: z.int(), location: z.string(), stored_at: z.iso.datetime({ precision: 3 }) })
    .nullable()
    .describe('Where crawlers are sent instead; null: nowhere'),
  facts: factsSchema.nullable().describe('What the stored page says'),
  renders: z.array(renderSchema).describe('How its last renders went, newest first'),
  history: z.array(digestSchema).describe('What its last different snapshots said, newest first'),
  inspection: inspectionSchema.nullable().describe('The newest of the last day'),
})

export function pageLens(app: ApiApp, deps: { pool: pg.Pool; clock: Clock }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/pages/lens',
    config: { access: 'key' },
    schema: {
      operationId: 'lookAtPage',
      tags: ['Pages'],
      summary: 'All that is known of one page: what it says, how its renders went, what it said before',
      security: [{ ApiKey: [] }],
      params: domainParams,
      querystring: onePageQuery,
      response: {
        200: answer('The page', lensSchema),
        ...refusals(...KEY_REFUSALS, 'invalid_field', 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const { pool, clock } = deps
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      const path = onePagePath(domain, request.query.path)
      const [snapshot, listed, renders, history, inspection] = await Promise.all([
        readSnapshot(pool, domain.id, path),
        findListed(pool, domain, path, clock.nowMs()),
        rendersOfPage(pool, domain.id, path),
        listDigests(pool, domain.id, path),
        lastInspection(pool, domain.id, path),
      ])
      const page = snapshot?.kind === 'page' ? snapshot : null
      return {
        domain: domain.name,
        path,
        stored:
          page === null || listed === null
            ? null
            : { ...listedPageView(listed), etag: page.etag, headers: [...page.headers] },
        redirect:
          snapshot?.kind === 'redirect'
            ? {
                status: snapshot.status,
                location: snapshot.location,
                stored_at: new Date(snapshot.renderedAtMs).toISOString(),
              }
            : null,
        facts: page && storedFacts(page.html, domain.name, path),
        renders,
        history: history.map(digestView),
        inspection: inspection && inspectionView(inspection),
      }
    },
  })
}
