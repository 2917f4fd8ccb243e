import type pg from 'pg'
import { z } from 'zod'

import { type PlanCatalogue, planNamed } from '../../accounts/plans.ts'
import type { SignIn } from '../../accounts/sign-in.ts'
import { countedAttempt } from '../../accounts/sign-in-failures.ts'
import type { ReadClient } from '../../client-address.ts'
import type { Clock } from '../../clock.ts'
import { emailSchema, me, meSchema, passwordSchema } from '../account-schema.ts'
import { answer, BODY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { fromOf } from '../from.ts'
import { checkSameSite, setCookies } from '../session-access.ts'

export function sessionCreate(
  app: ApiApp,
  deps: { pool: pg.Pool; plans: PlanCatalogue; clock: Clock; signIn: SignIn; readClient: ReadClient },
): void {
  const { pool, plans, clock, signIn, readClient } = deps
  app.route({
    method: 'POST',
    url: '/api/session',
    config: { access: 'open' },
    schema: {
      operationId: 'signIn',
      tags: ['Signing in'],
      summary: 'Sign in to the dashboard: sets the cookie of a session',
      description:
        'Five wrong passwords for one account from one address, or twenty for any, close it to that address for a quarter of an hour.',
      body: z.object({ email: emailSchema, password: passwordSchema }),
      response: {
        200: answer('Who is signed in now', z.object({ account: meSchema })),
        ...refusals(
          ...BODY_REFUSALS,
          'invalid_field',
          'wrong_credentials',
          'account_suspended',
          'cross_site',
          'too_many_failures',
          'too_many_requests',
          'internal',
        ),
      },
    },
    handler: async (request, reply) => {
      // Else another site could sign its visitor in to an account of its own.
      checkSameSite(request)
      const from = fromOf(readClient, request)
      const attempt = { email: request.body.email, address: from.address }
      const signedIn = await countedAttempt(pool, attempt, clock.nowMs(), 'wrong_credentials', () =>
        signIn.signIn(request.body, from),
      )
      setCookies(reply, signedIn.cookies)
      return { account: me(signedIn.session, planNamed(plans, signedIn.session.plan)) }
    },
  })
}
