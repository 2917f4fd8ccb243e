import { z } from 'zod'
import { readIndexNow } from '../../site-files/indexnow.ts'
import { domainParams, ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { type ApiApp, type ApiDeps, apiSchema } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'

export const indexNowSchema = apiSchema(
  'IndexNow',
  z.object({
    domain: z.string(),
    enabled: z.boolean(),
    waiting: z.int().describe('Changed pages that search engines have not been told of'),
    sent_at: z.iso.datetime({ precision: 3 }).nullable().describe('Of the last batch; null: none yet'),
    status: z
      .int()
      .nullable()
      .describe(
        'Its answer: 200 or 202; 400, 403 and 422 are refusals, others are tried again for a day. Null: none',
      ),
  }),
)

export function indexNow(app: ApiApp, { pool }: ApiDeps): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/indexnow',
    config: { access: 'key', refuses: ['domain_not_found'] },
    schema: {
      operationId: 'getIndexNow',
      tags: ['Site files'],
      summary: 'Whether search engines are told of changed pages, and how they answered',
      params: domainParams,
      response: { 200: jsonResponse('The state', indexNowSchema) },
    },
    handler: async (request) => {
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      return {
        domain: domain.name,
        enabled: domain.settings.indexnow,
        ...(await readIndexNow(pool, domain.id)),
      }
    },
  })
}
