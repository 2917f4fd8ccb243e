import { apiSchema } from '@prepaint/contract/api/api-schema.ts'
import { BROWSER_STATES, NODE_STATES, readFleet } from '@prepaint/service/insight/fleet/node.ts'
import { z } from 'zod'
import type { ApiApp, ApiDeps } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

const fleetNodeSchema = apiSchema(
  'FleetNode',
  z.object({
    id: z.string().describe('Changes with each restart'),
    host: z.string(),
    api_port: z.int().nullable().describe('Port of its API, or of `/readyz`; null: not listening yet'),
    version: z.string(),
    roles: z.array(z.string()).describe('Some of `edge`, `api`, `render`'),
    state: z.enum(NODE_STATES).describe('`draining`: shutting down; `dead`: no heartbeat for 15 seconds'),
    started_at: z.string(),
    seen_at: z.string().describe('Last heartbeat, by the clock of the database'),
    slots: z.int().describe('Render slots; 0: it does not render'),
    running: z.int().describe('Running jobs'),
    cores: z.int(),
    load: z.number().describe('Load average of its machine over one minute'),
    memory_bytes: z.int().describe('Resident: node, browsers and private PostgreSQL'),
    browser: z.enum(BROWSER_STATES).describe('`none`: this node does not render'),
    browsers: z
      .int()
      .describe('Running browsers: two while one replaces another, none after ten minutes without a render'),
    browsers_started: z
      .int()
      .describe(
        'Since the node started: the first one, replacements for age or after a crash, and one after each idle time',
      ),
    schema: z.string().describe('Its last known migration'),
  }),
)

export const fleetSchema = apiSchema(
  'Fleet',
  z.object({
    schema: z.string().describe('The last migration of the database; nodes with an earlier one are older'),
    nodes: z.array(fleetNodeSchema).describe('By host; dead nodes are listed for 10 minutes'),
  }),
)

export function operatorNodes(app: ApiApp, { pool }: ApiDeps): void {
  const add = accountRoutes(app, 'Operator', 'operator')
  add('GET', '/api/operator/nodes', 'listNodes', {
    summary: 'All nodes, with their load and version',
    response: { 200: jsonResponse('The nodes', fleetSchema) },
    handler: async () => readFleet(pool),
  })
}
