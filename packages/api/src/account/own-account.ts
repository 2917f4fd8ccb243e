import { Readable } from 'node:stream'
import {
  cancelledDeletionAnswer,
  changeAccountBody,
  deletedPersonAnswer,
  deletionAnswer,
  ownAccountAnswer,
  requestDeletionBody,
} from '@prepaint/contract/api/own-account.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import { record } from '@prepaint/postgres/audit'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { cancelDeletion, deletePerson, requestDeletion } from '@prepaint/service/accounts/account-deletion.ts'
import { EXPORT_RATE, exportAccount } from '@prepaint/service/accounts/account-export.ts'
import { readLook } from '@prepaint/service/accounts/branding.ts'
import { changeAccount, readAccount } from '@prepaint/service/accounts/own-account.ts'
import { writeDeletion } from '@prepaint/service/mail/mailer.ts'
import { z } from 'zod'
import { actorOf } from '../http/access.ts'
import type { ApiApp, ApiOptions, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, personRoutes } from '../http/routes.ts'
import { setSessionCookie } from '../http/session-access.ts'

const TAG = 'Account'

export function ownAccount(
  app: ApiApp,
  { caughtUp, clock, mailer, pool }: ApiParts,
  { notifySpeed, plans, publicUrl }: ApiOptions,
): void {
  const add = accountRoutes(app, TAG)

  add('GET', '/api/account', 'getAccount', {
    summary: 'The account: its name, contact address and plan, and whether it is going to be deleted',
    response: { 200: jsonResponse('The account', ownAccountAnswer) },
    handler: async ({ account }) => ({ account: await readAccount(pool, account) }),
  })

  add('PUT', '/api/account', 'changeAccount', {
    summary: 'Rename the account, or change its contact address',
    description: 'Only owners change the address. What is absent stays.',
    body: changeAccountBody,
    response: { 200: jsonResponse('The account', ownAccountAnswer) },
    handler: async ({ account }, request) => {
      const { name, email } = request.body
      if (name === undefined && email === undefined) throw invalidField(['name'], 'or email is required')
      return { account: await changeAccount(pool, account, actorOf(request), { name, email }) }
    },
  })

  add('GET', '/api/account/export', 'exportAccount', {
    summary: 'Everything of the account but pages and secrets, once a minute',
    description:
      'A line of JSON for each thing; `kind` is `account`, `member`, `domain`, `redirect`, `robots`, `key`, `token`, `incident`, `traffic` (by day) or `audit`.',
    refuses: ['export_rate'],
    response: {
      200: {
        description: 'The lines',
        content: { 'application/x-ndjson': { schema: z.string() } },
      },
    },
    handler: async ({ account }, _request, reply) => {
      const nowMs = clock.nowMs()
      await transaction(pool, async (client) => {
        const refusal = await EXPORT_RATE.take(client, `account ${account}`, { nowMs })
        if (refusal !== null) throw new AppError('export_rate', { headers: refusal.headers })
        await record(client, { account, action: 'account.exported' })
      })
      async function* lines() {
        for await (const line of exportAccount(pool, account, { plans, nowMs }))
          yield `${JSON.stringify(line)}\n`
      }
      return reply
        .type('application/x-ndjson')
        .header('Content-Disposition', 'attachment; filename="account.jsonl"')
        .send(Readable.from(lines(), { objectMode: false }))
    },
  })

  add('POST', '/api/account/deletion', 'requestDeletion', {
    summary: 'Delete the account in 7 days, with everything in it; until then all goes on',
    description:
      'Owners are told by e-mail. `DELETE` cancels it. Persons who are in no other account are deleted, too.',
    body: requestDeletionBody,
    response: { 202: jsonResponse('When it is deleted', deletionAnswer) },
    handler: async ({ account }, request, reply) => {
      const asked = { name: request.body.name, nowMs: clock.nowMs(), speed: notifySpeed }
      const { deletion, owners } = await requestDeletion(pool, account, actorOf(request), asked)
      if (mailer !== null && publicUrl !== null) {
        const letter = {
          account: request.body.name,
          deletesAt: deletion.deletes_at,
          url: `${publicUrl}/account`,
          look: await readLook(pool, account),
        }
        await Promise.all(owners.map((to) => mailer.send(writeDeletion({ to, ...letter }))))
      }
      return reply.code(202).send({ deletion })
    },
  })

  add('DELETE', '/api/account/deletion', 'cancelDeletion', {
    summary: 'Keep the account',
    refuses: ['no_deletion'],
    response: { 200: jsonResponse('It stays', cancelledDeletionAnswer) },
    handler: async ({ account }, request) => {
      await cancelDeletion(pool, account, actorOf(request), clock.nowMs())
      return { deletion: null }
    },
  })

  personRoutes(app, 'Signing in')('DELETE', '/api/person', 'deletePerson', {
    isFresh: true,
    summary: 'Delete your login; you leave all accounts',
    response: { 200: jsonResponse('Who was deleted', deletedPersonAnswer) },
    refuses: ['last_owner'],
    handler: async ({ person }, _request, reply) => {
      const deleted = await deletePerson(pool, person)
      await caughtUp()
      setSessionCookie(reply, publicUrl, null)
      return { deleted }
    },
  })
}
