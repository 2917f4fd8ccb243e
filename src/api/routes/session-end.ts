import type pg from 'pg'
import { z } from 'zod'

import { endSession, endSessions } from '../../accounts/sessions.ts'
import type { SignIn } from '../../accounts/sign-in.ts'
import { sessionCaller } from '../access.ts'
import { answer, emptyAnswer, refusals, SESSION_REFUSALS } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { idOf } from '../id-param.ts'
import { setCookies } from '../session-access.ts'

export function sessionEnd(app: ApiApp, deps: { pool: pg.Pool; signIn: SignIn }): void {
  app.route({
    method: 'DELETE',
    url: '/api/sessions/:id',
    config: { access: 'session' },
    schema: {
      operationId: 'endSession',
      tags: ['Signing in'],
      summary: 'Sign out at one place',
      security: [{ Session: [] }],
      params: z.object({ id: z.string().describe('As the list gave it') }),
      response: {
        204: emptyAnswer('Signed out there'),
        ...refusals(...SESSION_REFUSALS, 'session_not_found', 'malformed_request'),
      },
    },
    handler: async (request, reply) => {
      await endSession(
        deps.pool,
        sessionCaller(request).account,
        idOf(request.params.id, 'session_not_found'),
      )
      return reply.code(204).send(null)
    },
  })

  app.route({
    method: 'DELETE',
    url: '/api/sessions',
    config: { access: 'session' },
    schema: {
      operationId: 'signOutEverywhere',
      tags: ['Signing in'],
      summary: 'Sign out everywhere, here too',
      security: [{ Session: [] }],
      response: {
        200: answer('How many sessions were ended', z.object({ ended: z.int() })),
        ...refusals(...SESSION_REFUSALS, 'malformed_request'),
      },
    },
    handler: async (request, reply) => {
      const { account } = sessionCaller(request)
      setCookies(reply, await deps.signIn.signOut(request.headers.cookie))
      // The one that asks has ended already.
      return { ended: 1 + (await endSessions(deps.pool, account)) }
    },
  })
}
