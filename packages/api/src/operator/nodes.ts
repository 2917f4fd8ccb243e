import { fleetSchema } from '@prepaint/contract/api/operator.ts'
import { readFleet } from '@prepaint/service/insight/fleet/node.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { operatorRoutes } from '../http/routes.ts'

export function operatorNodes(app: ApiApp, { pool }: ApiParts): void {
  const add = operatorRoutes(app)
  add('GET', '/api/operator/nodes', 'listNodes', {
    summary: 'All nodes, with their load and version',
    response: { 200: jsonResponse('The nodes', fleetSchema) },
    handler: async () => readFleet(pool),
  })
}
