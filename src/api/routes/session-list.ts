import type pg from 'pg'
import { z } from 'zod'

import { listSessions } from '../../accounts/sessions.ts'
import type { Clock } from '../../clock.ts'
import { sessionCaller } from '../access.ts'
import { answer, refusals, SESSION_REFUSALS } from '../answer.ts'
import { apiSchema } from '../api-schema.ts'
import type { ApiApp } from '../app.ts'

export const sessionSchema = apiSchema(
  'Session',
  z.object({
    id: z.int(),
    current: z.boolean().describe('The one that asks'),
    created_at: z.string(),
    used_at: z.string().describe('To the day'),
    address: z.string().describe('Where it was begun; of IPv6 the /64'),
    user_agent: z.string(),
  }),
)

export function sessionList(app: ApiApp, deps: { pool: pg.Pool; clock: Clock }): void {
  app.route({
    method: 'GET',
    url: '/api/sessions',
    config: { access: 'session' },
    schema: {
      operationId: 'listSessions',
      tags: ['Signing in'],
      summary: 'Where one is signed in, the newest first',
      security: [{ Session: [] }],
      response: {
        200: answer('Sessions that have not ended', z.object({ sessions: z.array(sessionSchema) })),
        ...refusals(...SESSION_REFUSALS),
      },
    },
    handler: async (request) => {
      const { account, session } = sessionCaller(request)
      return { sessions: await listSessions(deps.pool, account, session.id, deps.clock.nowMs()) }
    },
  })
}
