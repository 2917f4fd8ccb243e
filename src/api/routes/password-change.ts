import type pg from 'pg'
import { z } from 'zod'

import type { SignIn } from '../../accounts/sign-in.ts'
import { countedAttempt } from '../../accounts/sign-in-failures.ts'
import type { ReadClient } from '../../client-address.ts'
import type { Clock } from '../../clock.ts'
import { sessionCaller } from '../access.ts'
import { passwordSchema } from '../account-schema.ts'
import { BODY_REFUSALS, emptyAnswer, refusals, SESSION_REFUSALS } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { fromOf } from '../from.ts'
import { setCookies } from '../session-access.ts'

export function passwordChange(
  app: ApiApp,
  deps: { pool: pg.Pool; clock: Clock; signIn: SignIn; readClient: ReadClient },
): void {
  const { pool, clock, signIn, readClient } = deps
  app.route({
    method: 'PUT',
    url: '/api/password',
    config: { access: 'session' },
    schema: {
      operationId: 'changePassword',
      tags: ['Signing in'],
      summary: 'Change the password, and sign out everywhere else',
      security: [{ Session: [] }],
      body: z.object({ current_password: passwordSchema, new_password: passwordSchema }),
      response: {
        204: emptyAnswer('Changed'),
        ...refusals(
          ...SESSION_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'wrong_password',
          'too_many_failures',
        ),
      },
    },
    handler: async (request, reply) => {
      const { email } = sessionCaller(request).session
      const attempt = { email, address: fromOf(readClient, request).address }
      const { current_password: current, new_password: next } = request.body
      const lines = await countedAttempt(pool, attempt, clock.nowMs(), 'wrong_password', () =>
        signIn.changePassword(request.headers.cookie ?? '', { current, next }),
      )
      setCookies(reply, lines)
      return reply.code(204).send(null)
    },
  })
}
