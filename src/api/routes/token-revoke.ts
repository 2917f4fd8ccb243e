import type pg from 'pg'
import { z } from 'zod'

import { revokeToken } from '../../accounts/tokens.ts'
import type { Clock } from '../../clock.ts'
import { sessionCaller } from '../access.ts'
import { emptyAnswer, refusals, SESSION_REFUSALS } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { idOf } from '../id-param.ts'

export function tokenRevoke(app: ApiApp, deps: { pool: pg.Pool; clock: Clock }): void {
  app.route({
    method: 'DELETE',
    url: '/api/tokens/:id',
    config: { access: 'session' },
    schema: {
      operationId: 'revokeToken',
      tags: ['Webhooks'],
      summary: 'Revoke a webhook token of one of the domains: the next request with it is refused',
      security: [{ Session: [] }],
      params: z.object({ id: z.string().describe('As the list gave it') }),
      response: {
        204: emptyAnswer('Revoked'),
        ...refusals(...SESSION_REFUSALS, 'webhook_token_not_found', 'malformed_request'),
      },
    },
    handler: async (request, reply) => {
      const id = idOf(request.params.id, 'webhook_token_not_found')
      await revokeToken(deps.pool, sessionCaller(request).account, id, deps.clock.nowMs())
      return reply.code(204).send(null)
    },
  })
}
