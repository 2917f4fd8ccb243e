import {
  changePasswordBody,
  readPasswordResetAnswer,
  requestPasswordResetBody,
} from '@prepaint/contract/api/account.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { countedAttempt, countResetRequest } from '@prepaint/service/accounts/sign-in/attempts.ts'
import { createLink, findResetPerson, welcomeUrl } from '@prepaint/service/accounts/sign-in/links.ts'
import { changePassword } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { type MailSender, type SignInLetter, write } from '@prepaint/service/mail/mailer.ts'
import { type ApiApp, type ApiOptions, type ApiParts, clientOf, isOnlySso } from '../http/app.ts'
import { emptyResponse, jsonResponse } from '../http/responses.ts'
import { personRoutes } from '../http/routes.ts'
import { checkSameSite, setSessionCookie } from '../http/session-access.ts'

export function passwords(app: ApiApp, parts: ApiParts, { plans, publicUrl }: ApiOptions): void {
  const add = personRoutes(app, 'Signing in')
  const { clock, log, mailer, pool, readClient } = parts

  add('PUT', '/api/password', 'changePassword', {
    summary: 'Change the password and end all other sessions',
    isOwnWay: true,
    body: changePasswordBody,
    response: { 204: emptyResponse('Changed') },
    refuses: ['wrong_password', 'too_many_failures'],
    handler: async (session, request, reply) => {
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

  const canSend = mailer !== null && publicUrl !== null && !isOnlySso(parts)

  app.route({
    method: 'GET',
    url: '/api/password-reset',
    config: { access: 'open' },
    schema: {
      operationId: 'readPasswordReset',
      tags: ['Signing in'],
      summary: 'Whether a new password can be requested by e-mail',
      response: { 200: jsonResponse('`by_mail`: e-mail is configured', readPasswordResetAnswer) },
    },
    handler: async () => ({ by_mail: canSend }),
  })

  app.route({
    method: 'POST',
    url: '/api/password-reset',
    config: {
      access: 'open',
      isOwnWay: true,
      refuses: ['cross_site', 'not_found', 'too_many_resets', 'database_unavailable'],
    },
    schema: {
      operationId: 'requestPasswordReset',
      tags: ['Signing in'],
      summary: 'Request an e-mail with a link to set a new password',
      description:
        'The response and its time do not depend on whether there is such a person. Limits in 15 minutes: 10 requests per client IP, 3 e-mails per address.',
      body: requestPasswordResetBody,
      response: { 204: emptyResponse('If there is such a person, an e-mail is sent') },
    },
    handler: async (request, reply) => {
      checkSameSite(request)
      if (mailer === null || publicUrl === null) throw new AppError('not_found')
      const { email } = request.body
      const { address } = clientOf(readClient, request)
      const mayBeSent = await countResetRequest(pool, { email, address }, clock.nowMs())
      // Not awaited: the duration would reveal whether the account exists.
      if (mayBeSent) {
        void sendLink(mailer, publicUrl, email).catch((error: unknown) =>
          log.warn({ err: error }, 'a password reset link could not be created'),
        )
      }
      return reply.code(204).send(null)
    },
  })

  async function sendLink(by: MailSender, base: string, email: string): Promise<void> {
    const person = await findResetPerson(pool, email)
    if (person === null) return
    const { token, expires_at } = await createLink(
      pool,
      plans,
      { kind: 'reset', person: person.id },
      clock.nowMs(),
    )
    const letter: SignInLetter = {
      kind: 'reset',
      to: person.email,
      url: welcomeUrl(base, token),
      endsAt: expires_at,
    }
    await by.send(write(letter))
  }
}
