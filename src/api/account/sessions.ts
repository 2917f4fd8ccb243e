import type pg from 'pg'
import { z } from 'zod'
import { type PlanCatalogue, planNamed } from '../../accounts/plans.ts'
import { countedAttempt } from '../../accounts/sign-in/attempts.ts'
import { signIn } from '../../accounts/sign-in/passwords.ts'
import { endSession, endSessions, listSessions } from '../../accounts/sign-in/sessions.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { ReadClient } from '../../http/client-address.ts'
import { sessionCaller } from '../http/access.ts'
import { answer, BODY_REFUSALS, emptyAnswer, refusals, SESSION_REFUSALS } from '../http/answer.ts'
import { type ApiApp, apiSchema, clientOf, idOf } from '../http/app.ts'
import { checkSameSite, setSessionCookie } from '../http/session-access.ts'
import { emailSchema, me, meSchema, passwordSchema } from './account-schema.ts'

export function sessionCreate(
  app: ApiApp,
  deps: {
    pool: pg.Pool
    plans: PlanCatalogue
    clock: Clock
    publicUrl: string | null
    readClient: ReadClient
  },
): void {
  const { pool, plans, clock, publicUrl, readClient } = deps
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
      const client = clientOf(readClient, request)
      const attempt = { email: request.body.email, address: client.address }
      const nowMs = clock.nowMs()
      const { session, token } = await countedAttempt(pool, attempt, nowMs, 'wrong_credentials', () =>
        signIn(pool, request.body, client, nowMs),
      )
      setSessionCookie(reply, publicUrl, token)
      return { account: me(session, planNamed(plans, session.plan)) }
    },
  })
}

export function sessionDelete(app: ApiApp, deps: { pool: pg.Pool; publicUrl: string | null }): void {
  app.route({
    method: 'DELETE',
    url: '/api/session',
    config: { access: 'session' },
    schema: {
      operationId: 'signOut',
      tags: ['Signing in'],
      summary: 'Sign out here',
      security: [{ Session: [] }],
      response: { 204: emptyAnswer('Signed out'), ...refusals(...SESSION_REFUSALS, 'malformed_request') },
    },
    handler: async (request, reply) => {
      const { account, session } = sessionCaller(request)
      await endSession(deps.pool, account, session.id)
      setSessionCookie(reply, deps.publicUrl, null)
      return reply.code(204).send(null)
    },
  })
}

export function sessionEnd(app: ApiApp, deps: { pool: pg.Pool; publicUrl: string | null }): void {
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
      const id = idOf(request.params.id, 'session_not_found')
      if (!(await endSession(deps.pool, sessionCaller(request).account, id))) {
        throw new AppError('session_not_found')
      }
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
      setSessionCookie(reply, deps.publicUrl, null)
      return { ended: await endSessions(deps.pool, account) }
    },
  })
}

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
