import type { IncomingMessage, ServerResponse } from 'node:http'
import type pg from 'pg'
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { type PageUrl, parsePageUrl } from '../../store/path.ts'
import { ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { BODY_REFUSALS, emptyAnswer, KEY_REFUSALS, pageAnswer, refusals } from '../http/answer.ts'
import type { ApiApp } from '../http/app.ts'

/** What the edge does for sites that keep their own front. Both take over the request and its answer. */
export type PageDoors = {
  answer: PageDoor
  offer: PageDoor
}

type PageDoor = (
  req: IncomingMessage,
  res: ServerResponse,
  asked: { url: PageUrl; userAgent: string | null },
) => void

/**
 * `GET /https://host/path`, as prerender middlewares spell it, is the route below; the router would not take every such
 * path. Some encode it, but for a query that they add behind it.
 */
export function middlewareUrl(url: string): string {
  if (/^\/https?:\/\//i.test(url)) return `/page/${encodeURIComponent(url.slice(1))}`
  if (!/^\/https?%3a%2f%2f/i.test(url)) return url
  const queryAt = url.indexOf('?')
  return queryAt === -1
    ? `/page${url}`
    : `/page${url.slice(0, queryAt)}${encodeURIComponent(url.slice(queryAt))}`
}

export function pageGet(app: ApiApp, deps: { pool: pg.Pool; doors: PageDoors }): void {
  app.route({
    method: 'GET',
    url: '/page/:url',
    config: { access: 'prerender-key' },
    schema: {
      operationId: 'getPage',
      tags: ['Pages'],
      summary: 'A page for a crawler, as prerender middlewares ask for it',
      description:
        'Also as `GET /https://host/path?query`, unencoded. Answered as the edge answers a crawler: status, headers and body of the page, else of the origin, with `X-Prepaint` saying which. An answer without `X-Prepaint` is an error of this request, and no page.',
      security: [{ PrerenderKey: [] }],
      params: z.object({ url: z.string().describe('The whole URL of a page of a domain that you own') }),
      response: {
        200: pageAnswer('The page, or the answer of the origin; with whatever status that has'),
        ...refusals(...KEY_REFUSALS, 'invalid_field', 'domain_not_found'),
      },
    },
    handler: async (request, reply) => {
      const url = await ownedPage(deps.pool, callerOf(request).account, request.params.url)
      reply.hijack()
      deps.doors.answer(request.raw, reply.raw, { url, userAgent: request.headers['user-agent'] ?? null })
      return reply
    },
  })
}

/** The page that the caller names, if its domain is his; throws what he is told otherwise. */
async function ownedPage(...[db, account, raw]: Parameters<typeof ownedDomain>): Promise<PageUrl> {
  const url = parsePageUrl(raw)
  if (url === null) {
    throw new AppError('invalid_field', { word: 'url must be the whole http or https URL of a page' })
  }
  const { name } = await ownedDomain(db, account, url.host.replace(/:\d*$/, ''))
  return { ...url, host: name }
}

/** Longer than any path that is stored, and than any user agent that is read to its end. */
export const URL_LIMIT_CHARS = 8_192
export const USER_AGENT_LIMIT_CHARS = 4_096

const bodySchema = z.object({
  url: z.string().max(URL_LIMIT_CHARS).describe('The whole URL of a page of a domain that you own'),
  user_agent: z
    .string()
    .max(USER_AGENT_LIMIT_CHARS)
    .optional()
    .describe('Of the request in hand: people are told to use the origin. Absent: a crawler asks'),
})

export function renderOffer(app: ApiApp, deps: { pool: pg.Pool; doors: PageDoors }): void {
  app.route({
    method: 'POST',
    url: '/api/render',
    config: { access: 'bearer-key' },
    schema: {
      operationId: 'render',
      tags: ['Pages'],
      summary: 'A page for a crawler, as edge workers ask for it',
      description:
        'Stored, or rendered while you wait. Whatever comes of it, the caller can go on: with 200, the page is the answer; with anything else, he asks his origin himself.',
      security: [{ BearerKey: [] }],
      body: bodySchema,
      response: {
        200: pageAnswer(
          'The page with its headers; its own status in `X-Prepaint-Status`, and `hit`, `stale` or `rendered` in `X-Prepaint` (`pass; sitemap`: a sitemap that was fetched for this). Of a redirect: no body, and `Location`',
        ),
        204: emptyAnswer('Use the origin; `X-Prepaint` says why: `pass; <reason>`'),
        ...refusals(...KEY_REFUSALS, ...BODY_REFUSALS, 'invalid_field', 'domain_not_found'),
      },
    },
    handler: async (request, reply) => {
      const { url: raw, user_agent: userAgent } = request.body
      const url = await ownedPage(deps.pool, callerOf(request).account, raw)
      reply.hijack()
      // Who names none in so many words is no crawler.
      deps.doors.offer(request.raw, reply.raw, { url, userAgent: userAgent ?? null })
      return reply
    },
  })
}
