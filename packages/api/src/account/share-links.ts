import {
  createShareLinkAnswer,
  createShareLinkBody,
  listShareLinksAnswer,
  revokedShareLinkAnswer,
  sharedAnswer,
  shareLinkParams,
} from '@prepaint/contract/api/share-links.ts'
import { readBranding } from '@prepaint/service/accounts/branding.ts'
import { domainNames } from '@prepaint/service/accounts/members.ts'
import { createShareLink, listShareLinks, revokeShareLink } from '@prepaint/service/accounts/share-links.ts'
import { actorOf, memberCaller, sharedOf } from '../http/access.ts'
import { type ApiApp, type ApiOptions, type ApiParts, numberFrom } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'
import { sharedUrl } from './link-url.ts'

const TAG = 'Share links'

export function shareLinks(
  app: ApiApp,
  { caughtUp, clock, pool }: ApiParts,
  { publicUrl }: ApiOptions,
): void {
  const add = accountRoutes(app, TAG)

  add('GET', '/api/share-links', 'listShareLinks', {
    summary: 'The share links of the account, oldest first; expired ones for 30 days',
    description: 'A member who is limited to named domains sees those that show no others.',
    response: { 200: jsonResponse('The links, without their token', listShareLinksAnswer) },
    handler: async (scope) => ({ share_links: await listShareLinks(pool, scope) }),
  })

  add('POST', '/api/share-links', 'createShareLink', {
    summary: 'Make a link that shows some domains to whoever has it, without a login',
    description:
      'The token is shown only once. It goes into `X-Share-Token`, and reads what a `client` may read of the chosen parts.',
    body: createShareLinkBody,
    refuses: ['domain_not_found', 'share_link_limit'],
    response: { 201: jsonResponse('The link', createShareLinkAnswer) },
    handler: async (scope, request, reply) => {
      const { name, domains, parts, expires_at: expires } = request.body
      const expiresAt = expires === undefined ? undefined : new Date(expires)
      const author = memberCaller(request).session.email
      const asked = { name, domains, parts, expiresAt, author }
      const { shareLink, token } = await createShareLink(pool, scope, actorOf(request), asked, clock.nowMs())
      const url = sharedUrl(publicUrl, request, token)
      return reply.code(201).send({ share_link: shareLink, token, url })
    },
  })

  add('DELETE', '/api/share-links/:id', 'revokeShareLink', {
    summary: 'Revoke a share link, from the next request on',
    params: shareLinkParams,
    refuses: ['share_link_not_found'],
    response: { 200: jsonResponse('What was revoked', revokedShareLinkAnswer) },
    handler: async (scope, request) => {
      const id = numberFrom(request.params.id, 'share_link_not_found')
      const deleted = await revokeShareLink(pool, scope, actorOf(request), id)
      await caughtUp()
      return { deleted }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/shared',
    config: { access: 'share' },
    schema: {
      operationId: 'getShared',
      tags: [TAG],
      summary: 'What a share link shows',
      response: { 200: jsonResponse('The account, the domains and the parts', sharedAnswer) },
    },
    handler: async (request) => {
      const { account, accountName, domains, parts, expiresAt } = sharedOf(request)
      return {
        share: {
          account: { name: accountName, branding: await readBranding(pool, account) },
          domains: await domainNames(pool, account, domains),
          parts,
          expires_at: expiresAt.toISOString(),
        },
      }
    },
  })
}
