import { incidentQuery, incidentsSchema, listIncidents } from '../../notifications/incidents/incidents.ts'
import { ownedDomain } from '../domains/domain-schema.ts'
import type { ApiApp, ApiDeps } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

export function incidents(app: ApiApp, { pool }: ApiDeps): void {
  accountRoutes(app, 'Notifications')('GET', '/api/incidents', 'listIncidents', {
    summary: 'Incidents of the account of the last 400 days: open first, newest first',
    query: incidentQuery,
    refuses: ['domain_not_found'],
    response: { 200: jsonResponse('The incidents', incidentsSchema) },
    handler: async (account, { query: { domain: name, ...query } }) => {
      const domain = name === undefined ? null : (await ownedDomain(pool, account, name)).id
      return listIncidents(pool, account, domain, query)
    },
  })
}
