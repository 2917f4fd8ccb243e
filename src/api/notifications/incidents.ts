import { z } from 'zod'
import { listIncidents } from '../../notifications/incidents/incidents.ts'
import { incidentSchema } from '../../notifications/kinds.ts'
import { domainNameFrom } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import type { ApiApp, ApiDeps } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'

const wholeNumber = (most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, { error: 'must be a whole number' })
    .transform(Number)
    .pipe(z.number().min(1).max(most))

/** Of lists that are read page by page. */
export const pageParameters = {
  limit: wholeNumber(200).default(100).describe('1 to 200; default 100'),
  after: wholeNumber(Number.MAX_SAFE_INTEGER).optional().describe('`next` of the page before'),
}
export const nextField = z.int().nullable().describe('For `after`')

export function incidents(app: ApiApp, { pool }: ApiDeps): void {
  app.route({
    method: 'GET',
    url: '/api/incidents',
    config: { access: 'key', refuses: ['domain_not_found'] },
    schema: {
      operationId: 'listIncidents',
      tags: ['Notifications'],
      summary: 'Incidents of the account of the last 400 days: open first, newest first',
      querystring: z.object({
        domain: z.string().optional(),
        state: z.enum(['open', 'resolved']).optional(),
        ...pageParameters,
      }),
      response: {
        200: jsonResponse('The incidents', z.object({ incidents: z.array(incidentSchema), next: nextField })),
      },
    },
    handler: async (request) => {
      const { domain, ...query } = request.query
      const name = domain === undefined ? null : domainNameFrom(domain)
      return listIncidents(pool, callerOf(request).account, { domain: name, ...query })
    },
  })
}
