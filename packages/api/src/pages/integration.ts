import type { IncomingMessage, ServerResponse } from 'node:http'
import { getPageParams, renderBody } from '@prepaint/contract/api/pages.ts'
import { invalidField } from '@prepaint/contract/errors.ts'
import { type PageUrl, parsePageUrl } from '@prepaint/contract/page/path.ts'
import { callerOf } from '../http/access.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { ownedDomain } from '../http/owned-domain.ts'
import { emptyResponse, htmlResponse } from '../http/responses.ts'

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

export function integrations(app: ApiApp, { integrations: edge, pool }: ApiParts): void {
  app.route({
    method: 'GET',
    url: '/page/:url',
    config: { access: 'prerender-key', refuses: ['invalid_field', 'domain_not_found'] },
    schema: {
      operationId: 'getPage',
      tags: ['Pages'],
      summary: 'A page for a crawler, for prerender middlewares',
      description:
        'Also as `GET /https://host/path?query`, not encoded. The response is the one that the edge gives a crawler: status, headers and body of the page, or of the origin; `X-Prepaint` says which. A response without `X-Prepaint` is an error of this request.',
      params: getPageParams,
      response: { 200: htmlResponse('The page or the response of the origin, with its own status') },
    },
    handler: async (request, reply) => {
      const url = await ownedPage(pool, callerOf(request).account, request.params.url)
      reply.hijack()
      edge.answer(request.raw, reply.raw, {
        url,
        userAgent: request.headers['user-agent'] ?? null,
      })
      return reply
    },
  })

  app.route({
    method: 'POST',
    url: '/api/render',
    config: { access: 'bearer-key', refuses: ['domain_not_found'] },
    schema: {
      operationId: 'render',
      tags: ['Pages'],
      summary: 'A page for a crawler, for edge workers',
      description:
        'The stored page, or one that is rendered while you wait. With 200, send the page; with anything else, use the origin.',
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
      const url = await ownedPage(pool, callerOf(request).account, raw)
      reply.hijack()
      // An explicit null is not a crawler.
      edge.offer(request.raw, reply.raw, { url, userAgent: userAgent ?? null, accept })
      return reply
    },
  })
}

/**
 * Rewrites `GET /https://host/path` from prerender middlewares. Some encode the address but not the query; servers in
 * front of some join its slashes.
 */
export function middlewareUrl(url: string): string {
  const whole = url
    .replace(/^(\/https?:)\/(?!\/)/i, '$1//')
    .replace(/^(\/https?(?:%3a|:))%2f(?!%2f)/i, '$1%2f%2f')
  if (/^\/https?:\/\//i.test(whole)) return `/page/${encodeURIComponent(whole.slice(1))}`
  if (!/^\/https?(?:%3a|:)%2f%2f/i.test(whole)) return url
  const queryAt = whole.indexOf('?')
  return queryAt === -1
    ? `/page${whole}`
    : `/page${whole.slice(0, queryAt)}${encodeURIComponent(whole.slice(queryAt))}`
}

/** Throws `domain_not_found` unless the account owns the domain, or `invalid_field`. */
async function ownedPage(...[db, account, raw]: Parameters<typeof ownedDomain>): Promise<PageUrl> {
  const url = parsePageUrl(raw)
  if (url === null) {
    throw invalidField(['url'], 'must be the whole http or https URL of a page')
  }
  const { name } = await ownedDomain(db, account, url.host.replace(/:\d*$/, ''))
  return { ...url, host: name }
}
