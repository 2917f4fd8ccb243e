import { apiSchema } from '@prepaint/contract/api/api-schema.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { PAGE_VARIANTS } from '@prepaint/contract/page/page-id.ts'
import { refreshPages } from '@prepaint/pages/queue/jobs/enqueue.ts'
import {
  countPages,
  type ListedPage,
  type ListPlace,
  listPages,
  matchingPaths,
  PAGE_ORDERS,
  pageMatch,
} from '@prepaint/pages/store/list-pages.ts'
import { type PurgeWhat, purgePages } from '@prepaint/pages/store/purge.ts'
import { errorCode } from '@prepaint/postgres/connection.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import { z } from 'zod'
import { purgedSchema } from '../cache/cache.ts'
import { type ApiApp, type ApiDeps, countText } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'
import { matchSchema, pageChoiceSchema, pagePathsOf, searchOf, searchSchema } from './page-choice.ts'

const time = z.iso.datetime({ precision: 3 })

export const listedPageSchema = apiSchema(
  'ListedPage',
  z.object({
    path: z.string().describe('Path beginning with `/`, with its normalised query'),
    variants: z
      .array(z.enum(PAGE_VARIANTS))
      .describe('Stored for which devices. The other fields describe the first one'),
    status: z.int().describe('Status that crawlers get'),
    html_bytes: z.int().describe('Size of the HTML'),
    stored_bytes: z.int().describe('Compressed size'),
    rendered_at: time,
    fresh_until: time.describe('Until then it is served as it is'),
    freshness: z
      .enum(['fresh', 'stale', 'kept', 'gone'])
      .describe(
        '`stale`: served while a refresh is queued; `kept`: served only if the origin or the renderer fails; `gone`: no longer served',
      ),
    last_crawler: z
      .object({
        name: z.string().describe('Its name in the user agent'),
        category: z.string(),
        visited_at: time,
      })
      .nullable()
      .describe('The last crawler in 30 days; up to one minute old'),
    last_render: z
      .object({ outcome: z.string(), ended_at: time })
      .nullable()
      .describe('The last render in 30 days; it may not be the stored one'),
  }),
)

export const LIST_LIMIT = 200
const CURSOR_LIMIT_CHARS = 6_000

const querySchema = z.object({
  search: searchSchema.optional(),
  match: matchSchema.optional(),
  order: z.enum(PAGE_ORDERS).optional().describe('Default: by path'),
  direction: z.enum(['asc', 'desc']).optional(),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(LIST_LIMIT)
    .optional()
    .describe('Pages in one response, default 100'),
  after: z
    .string()
    .max(CURSOR_LIMIT_CHARS)
    .optional()
    .describe('`next` of the previous response; all other parameters must be the same'),
})

const listSchema = z.object({
  domain: z.string(),
  pages: z.array(listedPageSchema),
  matching: z.int().nullable().describe('Total number of matching pages; null with `after`'),
  next: z.string().nullable().describe('For `after` of the next request; null: no more pages'),
})

const KEYS: Record<(typeof PAGE_ORDERS)[number], RegExp> = {
  path: /^\//,
  status: /^\d{1,4}$/,
  size: /^\d{1,10}$/,
  rendered: /^[\d :.+-]{10,40}$/,
  fresh_until: /^[\d :.+-]{10,40}$/,
  last_crawler: /^[\d :.+-]{10,40}$/,
  last_render: /^[a-z0-9-]{1,60}$/,
}

/** Pages per search. Their rows stay locked until all are deleted. */
export const PURGE_LIMIT = 100_000

/** Pages per search. All are deleted and queued in one transaction. */
export const REFRESH_LIMIT = 10_000

export function pages(app: ApiApp, deps: ApiDeps): void {
  const { caughtUp, clock, pool } = deps
  const add = domainRoutes(app, pool, 'Cache')

  add('GET', 'pages', 'listPages', {
    summary: 'The stored pages of a domain: searched, sorted, in parts',
    query: querySchema,
    response: { 200: jsonResponse('A part of the list', listSchema) },
    handler: async (domain, request) => {
      const { search, match, order, direction, limit, after } = request.query
      const wanted = pageMatch(match ?? 'contains', search ?? '')
      const place = after === undefined ? null : readPlace(after, order ?? 'path')
      const { pages, next } = await listPages(pool, domain, {
        match: wanted,
        order: order ?? 'path',
        direction: direction ?? 'asc',
        after: place,
        limit: limit ?? 100,
        nowMs: clock.nowMs(),
      }).catch((cause: Error) => {
        // PostgreSQL errors of class 22 (invalid value) can only come from `after`.
        if (place !== null && errorCode(cause).startsWith('22')) throw notNext(cause)
        throw cause
      })
      return {
        domain: domain.name,
        pages: pages.map(listedPageView),
        matching: place === null ? await countPages(pool, domain.id, wanted) : null,
        next: next === null ? null : writePlace(next),
      }
    },
  })

  add('POST', 'pages/purge', 'purgePages', {
    summary: 'Delete stored pages of a domain: listed ones, or all that a search finds',
    description:
      'Deletes all of them or none, and always the whole sitemap cache and redirect cache of the domain.',
    body: pageChoiceSchema,
    refuses: ['too_many_to_purge'],
    response: { 200: jsonResponse('Deleted', purgedSchema) },
    handler: async (domain, { body }) => {
      const what: PurgeWhat =
        'paths' in body
          ? { kind: 'paths', paths: pagePathsOf(domain, body.paths) }
          : { kind: 'matching', match: searchOf(body) }
      const keysDeleted = await retriedTransaction(pool, async (client) => {
        if (what.kind === 'matching') {
          const paths = await matchingPaths(client, domain.id, what.match, PURGE_LIMIT + 1)
          if (paths.length > PURGE_LIMIT) throw new AppError('too_many_to_purge')
        }
        return purgePages(client, domain.id, what)
      })
      await caughtUp()
      return { message: `Purged ${countText(keysDeleted, 'cache entry')} of ${domain.name}`, keysDeleted }
    },
  })

  add('POST', 'pages/refresh', 'refreshPages', {
    summary: 'Delete stored pages of a domain and render them again: listed ones, or all that a search finds',
    description:
      'Refreshes all of them or none. Requests of crawlers are rendered first. Each stored page counts as a render.',
    body: pageChoiceSchema,
    refuses: ['too_many_to_refresh', 'domain_inactive', 'queue_full'],
    response: {
      200: jsonResponse(
        'Queued',
        z.object({
          message: z.string(),
          domain: z.string(),
          pagesQueued: z.int().describe('Queued renders'),
        }),
      ),
    },
    handler: async (domain, { body }) => {
      const named = 'paths' in body ? pagePathsOf(domain, body.paths) : null
      const match = 'paths' in body ? null : searchOf(body)
      if (!domain.isActive) throw new AppError('domain_inactive')
      const pagesQueued = await retriedTransaction(pool, async (client) => {
        const paths = named ?? (await matchingPaths(client, domain.id, match, REFRESH_LIMIT + 1))
        if (paths.length > REFRESH_LIMIT) throw new AppError('too_many_to_refresh')
        return (await refreshPages(client, domain.id, paths)).length
      })
      await caughtUp()
      return {
        message: `Queued ${countText(pagesQueued, 'page')} of ${domain.name} for refresh`,
        domain: domain.name,
        pagesQueued,
      }
    },
  })
}

export function listedPageView(page: ListedPage): z.infer<typeof listedPageSchema> {
  const { lastCrawler, lastRender } = page
  return {
    path: page.path,
    variants: page.variants,
    status: page.status,
    html_bytes: page.htmlBytes,
    stored_bytes: page.storedBytes,
    rendered_at: page.renderedAt.toISOString(),
    fresh_until: new Date(page.freshUntilMs).toISOString(),
    freshness: page.freshness,
    last_crawler: lastCrawler && {
      name: lastCrawler.name,
      category: lastCrawler.category,
      visited_at: lastCrawler.visitedAt.toISOString(),
    },
    last_render: lastRender && { outcome: lastRender.outcome, ended_at: lastRender.endedAt.toISOString() },
  }
}

function writePlace({ key, path }: ListPlace): string {
  return Buffer.from(JSON.stringify([key, path])).toString('base64url')
}

/** Throws `invalid_field` unless `writePlace` made `text` for this order. */
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
