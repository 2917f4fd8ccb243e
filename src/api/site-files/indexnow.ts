import { z } from 'zod'
import { readIndexNow } from '../../site-files/indexnow.ts'
import { type ApiApp, type ApiDeps, apiSchema } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'

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
  domainRoutes(app, pool, 'Site files')('GET', 'indexnow', 'getIndexNow', {
    summary: 'Whether search engines are told of changed pages, and how they answered',
    response: { 200: jsonResponse('The state', indexNowSchema) },
    handler: async ({ id, name, settings }) => ({
      domain: name,
      enabled: settings.indexnow,
      ...(await readIndexNow(pool, id)),
    }),
  })
}
