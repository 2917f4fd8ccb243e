import {
  createKeyAnswer,
  createKeyBody,
  createTokenAnswer,
  createTokenBody,
  listKeysAnswer,
  listTokensAnswer,
  secretParams,
} from '@prepaint/contract/api/account.ts'
import { domainParams } from '@prepaint/contract/api/domain.ts'
import {
  createKey,
  createToken,
  listKeys,
  listTokens,
  revokeKey,
  revokeToken,
} from '@prepaint/service/accounts/keys.ts'
import { ENDED_SECRETS_KEPT_DAYS } from '@prepaint/service/accounts/retention.ts'
import { changerOf, memberCaller } from '../http/access.ts'
import { type ApiApp, type ApiOptions, type ApiParts, numberFrom } from '../http/app.ts'
import { emptyResponse, jsonResponse } from '../http/responses.ts'
import { accountRoutes, domainNameWithin } from '../http/routes.ts'

export function keys(app: ApiApp, { clock, pool }: ApiParts, { plans }: ApiOptions): void {
  const add = accountRoutes(app, 'API keys')

  add('GET', '/api/keys', 'listKeys', {
    summary: 'The API keys of the account, oldest first',
    description: `Revoked and expired keys are listed for ${ENDED_SECRETS_KEPT_DAYS} days.`,
    response: {
      200: jsonResponse('The keys, without their secret part', listKeysAnswer),
    },
    handler: async ({ account }) => ({
      keys: await listKeys(pool, account, clock.nowMs()),
    }),
  })

  add('POST', '/api/keys', 'createKey', {
    summary: 'Create an API key; it is shown only once',
    body: createKeyBody,
    response: {
      201: jsonResponse('The key', createKeyAnswer),
    },
    refuses: ['plan_without_api', 'api_key_limit'],
    handler: async ({ account }, request, reply) => {
      const { name, expires_at: expires, rights, domains } = request.body
      const { session, member } = memberCaller(request)
      const expiresAt = expires == null ? null : new Date(expires)
      const now = { plans, nowMs: clock.nowMs() }
      const author = { member: member.member, person: session.person, email: session.email }
      const asked = { name, expiresAt, author, rights, domains }
      const created = await createKey(pool, account, asked, now)
      return reply.code(201).send(created)
    },
  })

  add('DELETE', '/api/keys/:id', 'revokeKey', {
    summary: 'Revoke an API key, from the next request on',
    params: secretParams,
    response: { 204: emptyResponse('Revoked') },
    refuses: ['api_key_not_found'],
    handler: async ({ account }, request, reply) => {
      const id = numberFrom(request.params.id, 'api_key_not_found')
      await revokeKey(pool, account, id, clock.nowMs(), changerOf(request))
      return reply.code(204).send(null)
    },
  })
}

export function tokens(app: ApiApp, { clock, pool }: ApiParts, { plans }: ApiOptions): void {
  const add = accountRoutes(app, 'Webhooks')

  add('GET', '/api/domains/:domain/tokens', 'listTokens', {
    summary: 'The webhook tokens of the domain, oldest first',
    description: `Revoked tokens are listed for ${ENDED_SECRETS_KEPT_DAYS} days.`,
    params: domainParams,
    response: {
      200: jsonResponse('The tokens, without their secret part', listTokensAnswer),
    },
    refuses: ['domain_not_found'],
    handler: async (scope, request) => {
      const name = await domainNameWithin(pool, scope, request.params.domain)
      return { tokens: await listTokens(pool, scope.account, name) }
    },
  })

  add('POST', '/api/domains/:domain/tokens', 'createToken', {
    summary: 'Create a webhook token for the domain; it is shown only once',
    params: domainParams,
    body: createTokenBody,
    response: {
      201: jsonResponse('The token', createTokenAnswer),
    },
    refuses: ['plan_without_webhooks', 'webhook_token_limit', 'domain_not_found'],
    handler: async (scope, request, reply) => {
      const domain = await domainNameWithin(pool, scope, request.params.domain)
      const { name } = request.body
      const made = await createToken(pool, scope.account, domain, name, plans, changerOf(request))
      return reply.code(201).send(made)
    },
  })

  add('DELETE', '/api/tokens/:id', 'revokeToken', {
    summary: 'Revoke a webhook token of one of your domains, from the next request on',
    params: secretParams,
    response: { 204: emptyResponse('Revoked') },
    refuses: ['webhook_token_not_found'],
    handler: async (scope, request, reply) => {
      const id = numberFrom(request.params.id, 'webhook_token_not_found')
      await revokeToken(pool, scope, id, clock.nowMs(), changerOf(request))
      return reply.code(204).send(null)
    },
  })
}
