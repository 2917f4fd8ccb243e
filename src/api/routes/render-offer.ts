import type pg from 'pg'
import { z } from 'zod'

import { callerOf } from '../access.ts'
import { BODY_REFUSALS, emptyAnswer, KEY_REFUSALS, pageAnswer, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { ownedPage, type PageDoors } from './page-get.ts'

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
