import { domainParams } from '@prepaint/contract/api/domain.ts'
import {
  createSiteTokenAnswer,
  deleteSiteTokenAnswer,
  siteTokenAnswer,
} from '@prepaint/contract/api/fronts.ts'
import { createSiteToken, findSiteToken, revokeSiteToken } from '@prepaint/service/fronts/site-tokens.ts'
import { authorOf, changerOf } from '../http/access.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, domainNameWithin } from '../http/routes.ts'

const PATH = '/api/domains/:domain/site-token'

/** The token of a domain for its front. It is good for this domain's pages and for nothing else, on any plan. */
export function siteToken(app: ApiApp, { clock, pool }: ApiParts): void {
  const add = accountRoutes(app, 'Fronts')

  add('GET', PATH, 'getSiteToken', {
    summary: "The domain's site token, without its secret part",
    params: domainParams,
    response: { 200: jsonResponse('The token, or null if there is none', siteTokenAnswer) },
    refuses: ['domain_not_found'],
    handler: async (scope, request) => {
      const domain = await domainNameWithin(pool, scope, request.params.domain)
      return { site_token: await findSiteToken(pool, scope.account, domain, clock.nowMs()) }
    },
  })

  add('POST', PATH, 'createSiteToken', {
    summary: "Create the domain's site token; it is shown only once",
    description:
      'For the front of this site: a web server, a CDN, a middleware. The token before stays valid for 7 days.',
    params: domainParams,
    response: { 201: jsonResponse('The token', createSiteTokenAnswer) },
    refuses: ['domain_not_found'],
    handler: async (scope, request, reply) => {
      const domain = await domainNameWithin(pool, scope, request.params.domain)
      const made = { author: authorOf(request), nowMs: clock.nowMs(), by: changerOf(request) }
      return reply.code(201).send(await createSiteToken(pool, scope.account, domain, made))
    },
  })

  add('DELETE', PATH, 'deleteSiteToken', {
    summary: "End the domain's site token and the one that it replaced, from the next request on",
    params: domainParams,
    response: { 200: jsonResponse('The domain', deleteSiteTokenAnswer) },
    refuses: ['domain_not_found'],
    handler: async (scope, request) => {
      const domain = await domainNameWithin(pool, scope, request.params.domain)
      await revokeSiteToken(pool, scope.account, domain, clock.nowMs(), changerOf(request))
      return { deleted: { domain } }
    },
  })
}
