import type pg from 'pg'
import { z } from 'zod'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import { countedAttempt, countResetRequest } from '../../accounts/sign-in/attempts.ts'
import { createLink, findResetAccount } from '../../accounts/sign-in/links.ts'
import { changePassword } from '../../accounts/sign-in/passwords.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { ReadClient } from '../../http/client-address.ts'
import type { Log } from '../../log.ts'
import { type Letter, type Mailer, write } from '../../mail/mailer.ts'
import { sessionCaller } from '../http/access.ts'
import { answer, BODY_REFUSALS, emptyAnswer, refusals, SESSION_REFUSALS } from '../http/answer.ts'
import { type ApiApp, clientOf } from '../http/app.ts'
import { checkSameSite, setSessionCookie } from '../http/session-access.ts'
import { emailSchema, passwordSchema } from './account-schema.ts'

export function passwordChange(
  app: ApiApp,
  deps: { pool: pg.Pool; clock: Clock; publicUrl: string | null; readClient: ReadClient },
): void {
  const { pool, clock, publicUrl, readClient } = deps
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
      const { session } = sessionCaller(request)
      const attempt = { email: session.email, address: clientOf(readClient, request).address }
      const { current_password: current, new_password: next } = request.body
      const nowMs = clock.nowMs()
      const token = await countedAttempt(pool, attempt, nowMs, 'wrong_password', () =>
        changePassword(pool, session, { current, next }, nowMs),
      )
      setSessionCookie(reply, publicUrl, token)
      return reply.code(204).send(null)
    },
  })
}

type Deps = {
  pool: pg.Pool
  plans: PlanCatalogue
  clock: Clock
  log: Log
  readClient: ReadClient
  publicUrl: string | null
  /** Absent: no mail is sent. */
  mailer?: Pick<Mailer, 'send'>
}

/** A new password by mail, for whoever has forgotten his; only where mail is set up. */
export function passwordReset(app: ApiApp, deps: Deps): void {
  const { pool, plans, clock, log, readClient, publicUrl, mailer } = deps
  const canSend = mailer !== undefined && publicUrl !== null

  app.route({
    method: 'GET',
    url: '/api/password-reset',
    config: { access: 'open' },
    schema: {
      operationId: 'readPasswordReset',
      tags: ['Signing in'],
      summary: 'Whether a new password can be asked for by mail',
      response: {
        200: answer('Whether it can', z.object({ by_mail: z.boolean() })),
        ...refusals('too_many_requests', 'internal'),
      },
    },
    handler: async () => ({ by_mail: canSend }),
  })

  app.route({
    method: 'POST',
    url: '/api/password-reset',
    config: { access: 'open' },
    schema: {
      operationId: 'requestPasswordReset',
      tags: ['Signing in'],
      summary: 'Ask for a link to a new password by mail',
      description:
        'Answered alike, and as quickly, whether or not there is such an account. One address may ask ten times in a quarter of an hour; an account gets three mails in that time.',
      body: z.object({ email: emailSchema }),
      response: {
        204: emptyAnswer('If there is such an account, its owner gets a mail'),
        ...refusals(
          ...BODY_REFUSALS,
          'invalid_field',
          'cross_site',
          'not_found',
          'too_many_resets',
          'too_many_requests',
          'internal',
        ),
      },
    },
    handler: async (request, reply) => {
      checkSameSite(request)
      if (mailer === undefined || publicUrl === null) throw new AppError('not_found')
      const { email } = request.body
      const { address } = clientOf(readClient, request)
      const mayBeSent = await countResetRequest(pool, { email, address }, clock.nowMs())
      // Not waited for: how long it takes would tell whether there is such an account.
      if (mayBeSent) {
        void sendLink(mailer, publicUrl, email).catch((error: unknown) =>
          log.warn({ err: error }, 'a link for a new password could not be made'),
        )
      }
      return reply.code(204).send(null)
    },
  })

  async function sendLink(by: Pick<Mailer, 'send'>, base: string, email: string): Promise<void> {
    const account = await findResetAccount(pool, email)
    if (account === null) return
    const { token, expires_at } = await createLink(
      pool,
      plans,
      { kind: 'reset', account: account.id },
      clock.nowMs(),
    )
    const letter: Letter = {
      kind: 'reset',
      to: account.email,
      url: `${base}/welcome#${token}`,
      endsAt: expires_at,
    }
    await by.send(write(letter))
  }
}
