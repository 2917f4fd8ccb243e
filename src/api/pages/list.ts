import type pg from 'pg'
import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import { errorCode } from '../../db/connection.ts'
import { AppError } from '../../errors.ts'
import {
  countPages,
  type ListedPage,
  type ListPlace,
  listPages,
  PAGE_ORDERS,
  pageMatch,
} from '../../store/list-pages.ts'
import { domainParams, ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { answer, KEY_REFUSALS, refusals } from '../http/answer.ts'
import { type ApiApp, apiSchema } from '../http/app.ts'
import { matchSchema, searchSchema } from './page-choice.ts'

const time = z.iso.datetime({ precision: 3 })

export const listedPageSchema = apiSchema(
  'ListedPage',
  z.object({
    path: z.string().describe('Path beginning with `/`, with its normalised query'),
    status: z.int().describe('What crawlers are answered with'),
    html_bytes: z.int().describe('Size of the HTML'),
    stored_bytes: z.int().describe('And as it is stored, compressed'),
    rendered_at: time,
    fresh_until: time.describe('Until then it is served without a second thought'),
    freshness: z
      .enum(['fresh', 'stale', 'kept', 'gone'])
      .describe(
        '`stale`: served while a refresh is queued; `kept`: only for when the origin or the renderer fails; `gone`: no longer served',
      ),
    last_crawler: z
      .object({
        name: z.string().describe('What it calls itself'),
        category: z.string(),
        asked_at: time,
      })
      .nullable()
      .describe('Who asked last in the last 30 days; at most a minute behind'),
    last_render: z
      .object({ outcome: z.string(), ended_at: time })
      .nullable()
      .describe('How the last render in the last 30 days ended, which need not be the one that is stored'),
  }),
)

export function listedPageView(page: ListedPage): z.infer<typeof listedPageSchema> {
  const { lastCrawler, lastRender } = page
  return {
    path: page.path,
    status: page.status,
    html_bytes: page.htmlBytes,
    stored_bytes: page.storedBytes,
    rendered_at: page.renderedAt.toISOString(),
    fresh_until: new Date(page.freshUntilMs).toISOString(),
    freshness: page.freshness,
    last_crawler: lastCrawler && {
      name: lastCrawler.name,
      category: lastCrawler.category,
      asked_at: lastCrawler.askedAt.toISOString(),
    },
    last_render: lastRender && { outcome: lastRender.outcome, ended_at: lastRender.endedAt.toISOString() },
  }
}

/** Pages in one piece of the list. */
export const LIST_LIMIT = 200
const CURSOR_LIMIT_CHARS = 6_000

const querySchema = z.object({
  search: searchSchema.optional(),
  match: matchSchema.optional(),
  order: z.enum(PAGE_ORDERS).optional().describe('By path, if nothing is said'),
  direction: z.enum(['asc', 'desc']).optional(),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(LIST_LIMIT)
    .optional()
    .describe('Pages in one answer, 100 if nothing is said'),
  after: z
    .string()
    .max(CURSOR_LIMIT_CHARS)
    .optional()
    .describe('`next` of the piece before, with everything else as it was asked for there'),
})

const listSchema = z.object({
  domain: z.string(),
  pages: z.array(listedPageSchema),
  matching: z.int().nullable().describe('How many pages match in all; null in later pieces'),
  next: z.string().nullable().describe('Asks for the piece after this one; null: there is none'),
})

export function pageList(app: ApiApp, deps: { pool: pg.Pool; clock: Clock }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/pages',
    config: { access: 'key' },
    schema: {
      operationId: 'listPages',
      tags: ['Cache'],
      summary: 'The stored pages of a domain, piece by piece, searched and in any order',
      security: [{ ApiKey: [] }],
      params: domainParams,
      querystring: querySchema,
      response: {
        200: answer('A piece of the list', listSchema),
        ...refusals(...KEY_REFUSALS, 'invalid_field', 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const { search, match, order, direction, limit, after } = request.query
      const domain = await ownedDomain(deps.pool, callerOf(request).account, request.params.domain)
      const wanted = pageMatch(match ?? 'contains', search ?? '')
      const place = after === undefined ? null : readPlace(after, order ?? 'path')
      const { pages, next } = await listPages(deps.pool, domain, {
        match: wanted,
        order: order ?? 'path',
        direction: direction ?? 'asc',
        after: place,
        limit: limit ?? 100,
        nowMs: deps.clock.nowMs(),
      }).catch((cause: Error) => {
        // A number or a time that is none (class 22) can only come from there.
        if (place !== null && errorCode(cause).startsWith('22')) throw notNext(cause)
        throw cause
      })
      return {
        domain: domain.name,
        pages: pages.map(listedPageView),
        matching: place === null ? await countPages(deps.pool, domain.id, wanted) : null,
        next: next === null ? null : writePlace(next),
      }
    },
  })
}

function writePlace({ key, path }: ListPlace): string {
  return Buffer.from(JSON.stringify([key, path])).toString('base64url')
}

const KEYS: Record<(typeof PAGE_ORDERS)[number], RegExp> = {
  path: /^\//,
  status: /^\d{1,4}$/,
  size: /^\d{1,10}$/,
  rendered: /^[\d :.+-]{10,40}$/,
  fresh_until: /^[\d :.+-]{10,40}$/,
  last_crawler: /^[\d :.+-]{10,40}$/,
  last_render: /^[a-z0-9-]{1,60}$/,
}

/** Throws `invalid_field` for what was not written above for a list in this order. */
function readPlace(text: string, order: (typeof PAGE_ORDERS)[number]): ListPlace {
  const [key, path, ...more] = parsed(text)
  const isKey = key === null ? order.startsWith('last_') : typeof key === 'string' && KEYS[order].test(key)
  if (!isKey || typeof path !== 'string' || more.length > 0 || path.includes('\0')) {
    throw notNext()
  }
  return { key: typeof key === 'string' ? key : null, path }
}

function notNext(cause?: Error): AppError {
  return new AppError('invalid_field', { word: 'after is not the "next" of a list in this order', cause })
}

function parsed(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}
