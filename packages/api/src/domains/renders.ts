import { completeSchema, renderSchema } from '@prepaint/contract/api/renders.ts'
import { completePages, lastRenders } from '@prepaint/pages/queue/judging/render-records.ts'
import { z } from 'zod'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'

export function renders(app: ApiApp, { pool }: ApiParts): void {
  domainRoutes(app, pool, 'Jobs')('GET', 'renders', 'listRenders', {
    summary: 'The last 50 renders of a domain, newest first; kept for a week, 20 for each page',
    response: {
      200: jsonResponse(
        'The renders',
        z.object({ domain: z.string(), renders: z.array(renderSchema), complete: completeSchema }),
      ),
    },
    handler: async (domain) => ({
      domain: domain.name,
      renders: await lastRenders(pool, domain.id),
      complete: await completePages(pool, domain.id),
    }),
  })
}
