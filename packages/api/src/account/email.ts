import {
  changeEmailAnswer,
  changeEmailBody,
  confirmEmailAnswer,
  confirmEmailBody,
} from '@prepaint/contract/api/account.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { beginEmailChange, useEmailLink } from '@prepaint/service/accounts/sign-in/email-change.ts'
import { writeEmailChange } from '@prepaint/service/mail/notice.ts'
import type { ApiApp, ApiOptions, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { personRoutes } from '../http/routes.ts'
import { checkSameSite } from '../http/session-access.ts'

export function email(app: ApiApp, { clock, mailer, pool }: ApiParts, { publicUrl }: ApiOptions): void {
  const add = personRoutes(app, 'Signing in')

  add('POST', '/api/person/email', 'changeEmail', {
    summary: 'Ask for another address; it counts once its letter was answered',
    description:
      'The new address gets a link for 24 hours, the old one a link that undoes the change, for 72 hours. The answer does not depend on whether the address has a login.',
    isFresh: true,
    body: changeEmailBody,
    response: { 202: jsonResponse('The letters are on their way', changeEmailAnswer) },
    refuses: ['mail_needed', 'too_many_email_changes'],
    handler: async (session, request, reply) => {
      if (mailer === null || publicUrl === null) throw new AppError('mail_needed')
      const { next, before } = await beginEmailChange(pool, session.person, request.body.email, clock.nowMs())
      const url = (token: string) => `${publicUrl}/confirm#${token}`
      const undo = { to: before.email, other: next.email, url: url(before.token), endsAt: before.endsAt }
      const confirm = { to: next.email, other: before.email, url: url(next.token), endsAt: next.endsAt }
      // Not awaited: the duration would tell something about the address.
      void mailer.send(writeEmailChange('undo', undo))
      void mailer.send(writeEmailChange('confirm', confirm))
      return reply.code(202).send({})
    },
  })

  app.route({
    method: 'POST',
    url: '/api/person/email/confirm',
    config: {
      access: 'open',
      refuses: ['link_not_found', 'email_taken', 'cross_site', 'database_unavailable'],
    },
    schema: {
      operationId: 'confirmEmail',
      tags: ['Signing in'],
      summary: 'Use the link of a new address, or undo a change by the link of the old one',
      body: confirmEmailBody,
      response: { 200: jsonResponse('The address that counts now', confirmEmailAnswer) },
    },
    handler: async (request) => {
      checkSameSite(request)
      return useEmailLink(pool, request.body.token, clock.nowMs())
    },
  })
}
