import { z } from 'zod'

import { sessionCaller } from '../access.ts'
import { me, meSchema } from '../account-schema.ts'
import { answer, refusals, SESSION_REFUSALS } from '../answer.ts'
import type { ApiApp } from '../app.ts'

export function sessionGet(app: ApiApp): void {
  app.route({
    method: 'GET',
    url: '/api/session',
    config: { access: 'session' },
    schema: {
      operationId: 'getSession',
      tags: ['Signing in'],
      summary: 'Who is signed in, and what the plan of the account allows',
      security: [{ Session: [] }],
      response: {
        200: answer('Who is signed in', z.object({ account: meSchema })),
        ...refusals(...SESSION_REFUSALS),
      },
    },
    handler: async (request) => {
      const { session, plan } = sessionCaller(request)
      return { account: me(session, plan) }
    },
  })
}
