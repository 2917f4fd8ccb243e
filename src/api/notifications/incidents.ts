import { incidentQuery, incidentsSchema, listIncidents } from '../../notifications/incidents/incidents.ts'
import { ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import type { ApiApp, ApiDeps } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'

export function incidents(app: ApiApp, { pool }: ApiDeps): void {
  app.route({
    method: 'GET',
    url: '/api/incidents',
    config: { access: 'key', refuses: ['domain_not_found'] },
    schema: {
      ...{ operationId: 'listIncidents', tags: ['Notifications'], querystring: incidentQuery },
      summary: 'Incidents of the account of the last 400 days: open first, newest first',
      response: { 200: jsonResponse('The incidents', incidentsSchema) },
    },
    handler: async (request) => {
      const { domain: name, ...query } = request.query
      const { account } = callerOf(request)
      const domain = name === undefined ? null : (await ownedDomain(pool, account, name)).id
      return listIncidents(pool, account, domain, query)
    },
  })
}
