import type pg from 'pg'
import { z } from 'zod'

import { BROWSER_STATES, NODE_STATES, readFleet } from '../../insight/fleet/node.ts'
import { answer, OPERATOR_REFUSALS, refusals } from '../http/answer.ts'
import type { ApiApp } from '../http/app.ts'
import { apiSchema } from '../http/app.ts'

const fleetNodeSchema = apiSchema(
  'FleetNode',
  z.object({
    id: z.string().describe('Of this run of the node: after a restart it has another'),
    host: z.string(),
    version: z.string(),
    roles: z.array(z.string()).describe('Some of `edge`, `api`, `render`'),
    state: z
      .enum(NODE_STATES)
      .describe('`draining`: it has been asked to end; `dead`: not heard of for 15 seconds'),
    started_at: z.string(),
    seen_at: z.string().describe('When it was last heard of, by the clock of the database'),
    slots: z.int().describe('Pages that it renders at once, at most; 0 where it does not render'),
    running: z.int().describe('Jobs that it ran then'),
    cores: z.int(),
    load: z.number().describe('Of its machine, over the last minute'),
    memory_bytes: z.int().describe('Resident: node, browsers and private PostgreSQL'),
    browser: z.enum(BROWSER_STATES).describe('`none`: this node does not render'),
    browsers: z.int().describe('That run; two while one takes the place of another'),
    browsers_started: z
      .int()
      .describe('Since the node began: the first, and each that replaced one, for age or after a crash'),
    schema: z.string().describe('The last migration that it knows'),
  }),
)

export const fleetSchema = apiSchema(
  'Fleet',
  z.object({
    schema: z.string().describe('The last migration of the database; nodes that know less are older'),
    nodes: z.array(fleetNodeSchema).describe('By host; dead ones are listed for ten minutes'),
  }),
)

/** The nodes that share this database, for operators. */
export function operatorNodes(app: ApiApp, { pool }: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/operator/nodes',
    config: { access: 'operator' },
    schema: {
      operationId: 'listNodes',
      tags: ['Operator'],
      summary: 'All nodes, with their load and version',
      security: [{ Session: [] }],
      response: { 200: answer('The nodes', fleetSchema), ...refusals(...OPERATOR_REFUSALS) },
    },
    handler: async () => readFleet(pool),
  })
}
