import type { IncomingMessage, ServerResponse } from 'node:http'
import { getPageParams, renderBody } from '@prepaint/contract/api/pages.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import { type PageUrl, parsePageUrl } from '@prepaint/contract/page/path.ts'
import { frontKeyOfRoute } from '../http/access.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { emptyResponse, htmlResponse } from '../http/responses.ts'
import { type MiddlewareForm, mayNote, NOT_PROVEN, noteRefusal, pageOfKey } from './middleware-form.ts'

/** Implemented by the edge for sites with their own server or CDN. Both take over request and response. */
export type PageIntegrations = {
  answer: PageIntegration
  offer: PageIntegration
}

type PageIntegration = (
  req: IncomingMessage,
  res: ServerResponse,
  page: { url: PageUrl; userAgent: string | null; accept?: string | undefined },
) => void

export function integrations(
  app: ApiApp,
  { integrations: edge, accessDb, evidence }: ApiParts,
  middlewareForm: MiddlewareForm,
): void {
  app.route({
    method: 'GET',
    url: '/page/:url',
    config: { access: 'middleware-form' },
    schema: {
      operationId: 'getPage',
      tags: ['Pages'],
      summary: 'A page for a crawler, for prerender middlewares',
      description:
        'Also as `GET /https://host/path?query`, not encoded. The response is the one that the edge gives a crawler: status, headers and body of the page, or of the origin; `X-Prepaint` says which. A response without `X-Prepaint` is a refusal: send the crawler the answer of your site. `X-Prerender-Reject-Reason` says why.',
      params: getPageParams,
      response: {
        200: htmlResponse('The page or the response of the origin, with its own status'),
        401: emptyResponse('`invalid-x-prerender-token-provided`: the key never was one of ours'),
        403: emptyResponse('`no-x-prerender-token-provided`'),
        404: emptyResponse('`url-invalid`'),
        502: emptyResponse('`connection-error`: there is no page, and the origin cannot be reached'),
        503: emptyResponse(
          'With `Retry-After`: `invalid-x-prerender-token-provided` (the key worked once), `plan-without-api-access`, `key-without-right`, `domain-not-registered`, `domain-not-proven`, `origin-refused`, `over-capacity` or `unavailable`',
        ),
        504: emptyResponse('`rendering-error`: there is no page, and the origin is silent'),
      },
    },
    handler: async (request, reply) => {
      reply.hijack()
      middlewareForm.answer(request.raw, reply.raw)
      return reply
    },
  })

  app.route({
    method: 'POST',
    url: '/api/render',
    config: { access: 'front-key', refuses: ['key_forbidden', 'domain_not_found', 'domain_not_proven'] },
    schema: {
      operationId: 'render',
      tags: ['Pages'],
      summary: 'A page for a crawler, for edge workers',
      description:
        'The stored page, or one that is rendered while you wait. With 200, send the page; with anything else, use the origin. Takes an API key or the site token of the domain, as Bearer token, in `X-Prerender-Token` or in `X-Api-Key`.',
      body: renderBody,
      response: {
        200: htmlResponse(
          'The page with its headers. `X-Prepaint-Status`: status of the page; `X-Prepaint`: `hit`, `stale` or `rendered` (`pass; sitemap`: a sitemap that was fetched for this request). A redirect has no body, and `Location`',
        ),
        204: emptyResponse('Use the origin; `X-Prepaint` says why: `pass; <reason>`'),
      },
    },
    handler: async (request, reply) => {
      const { url: raw, user_agent: userAgent, accept } = request.body
      const url = parsePageUrl(raw)
      if (url === null) throw invalidField(['url'], 'must be the whole http or https URL of a page')
      const key = frontKeyOfRoute(request)
      const page = await pageOfKey(accessDb, key, url)
      if (page === null) {
        await noteRefusal(evidence, key.account, url, 'domain', await mayNote(accessDb, key, url))
        throw new AppError('domain_not_found')
      }
      if (page === NOT_PROVEN) {
        await noteRefusal(evidence, key.account, url, 'not-proven', true)
        throw new AppError('domain_not_proven', { headers: { 'Retry-After': '3600' } })
      }
      reply.hijack()
      // An explicit null is not a crawler.
      edge.offer(request.raw, reply.raw, { url: page, userAgent: userAgent ?? null, accept })
      return reply
    },
  })
}
