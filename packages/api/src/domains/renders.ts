import { listRendersAnswer, listRendersQuery } from '@prepaint/contract/api/renders.ts'
import { completePages, listRenders } from '@prepaint/pages/queue/judging/render-records.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'

export function renders(app: ApiApp, { pool }: ApiParts): void {
  domainRoutes(app, pool, 'Jobs')('GET', 'renders', 'listRenders', {
    summary: 'The renders of a domain, newest first; kept for a week, 20 for each page',
    heaviness: 'read',
    query: listRendersQuery,
    response: { 200: jsonResponse('The renders', listRendersAnswer) },
    handler: async (domain, request) => ({
      domain: domain.name,
      ...(await listRenders(pool, domain.id, request.query)),
      complete: await completePages(pool, domain.id),
    }),
  })
}
