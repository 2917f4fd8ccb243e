import { purgedSchema } from '@prepaint/contract/api/cache.ts'
import {
  type listedPageSchema,
  listPagesAnswer,
  listPagesQuery,
  type PAGE_ORDERS,
  pageChoiceSchema,
  refreshPagesAnswer,
  rerenderAnswer,
  rerenderBody,
} from '@prepaint/contract/api/pages.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { refreshPages, rerenderPages } from '@prepaint/pages/queue/jobs/enqueue.ts'
import {
  countByFilter,
  countPages,
  type ListedPage,
  type ListPlace,
  listPages,
} from '@prepaint/pages/store/list-pages.ts'
import { deletePages, type PurgeWhat } from '@prepaint/pages/store/purge.ts'
import { errorCode } from '@prepaint/postgres/connection.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type { z } from 'zod'
import { type ApiApp, type ApiParts, countText } from '../http/app.ts'
import type { Heaviness } from '../http/heavy-work.ts'
import { notNext, readPlaceText, writePlaceText } from '../http/list-places.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'
import { chosenBy, chosenPaths, filterOf } from './page-choice.ts'

const KEYS: Record<(typeof PAGE_ORDERS)[number], RegExp> = {
  path: /^\//,
  status: /^\d{1,4}$/,
  size: /^\d{1,10}$/,
  rendered: /^[\d :.+-]{10,40}$/,
  fresh_until: /^[\d :.+-]{10,40}$/,
  last_crawler: /^[\d :.+-]{10,40}$/,
  last_render: /^[a-z0-9-]{1,60}$/,
}

/** Pages per search or filter. Their rows stay locked until all are deleted. */
export const PURGE_LIMIT = 100_000

/** Pages per search or filter. All are deleted and queued in one transaction. */
export const REFRESH_LIMIT = 10_000

/** Paths that a request names are found by the index. A search or a filter reads all pages of the domain. */
function heavinessOf({ body }: { body: object }): Heaviness | null {
  return 'paths' in body ? null : 'change'
}

const AT_MOST_REFRESHED = { most: REFRESH_LIMIT, refusal: 'too_many_to_refresh' } as const

export function pages(app: ApiApp, { caughtUp, clock, pool }: ApiParts): void {
  const add = domainRoutes(app, pool, 'Cache')

  add('GET', 'pages', 'listPages', {
    summary: 'The stored pages of a domain: searched, filtered, sorted, in parts',
    heaviness: 'read',
    query: listPagesQuery,
    response: { 200: jsonResponse('A part of the list', listPagesAnswer) },
    handler: async (domain, request) => {
      const { order, direction, limit, after, counts: isCounted = true, ...filter } = request.query
      const wanted = filterOf(filter, clock.nowMs())
      const place = after === undefined ? null : readPlace(after, order ?? 'path')
      const { pages, next } = await listPages(pool, domain, {
        ...wanted,
        order: order ?? 'path',
        direction: direction ?? 'asc',
        after: place,
        limit: limit ?? 100,
      }).catch((cause: Error) => {
        // PostgreSQL errors of class 22 (invalid value) can only come from `after`.
        if (place !== null && errorCode(cause).startsWith('22')) throw notNext(cause)
        throw cause
      })
      const counted = place === null && isCounted ? await countByFilter(pool, domain, wanted) : null
      let matching = counted?.matching ?? null
      if (place === null && !isCounted) matching = await countPages(pool, domain, wanted)
      return {
        domain: domain.name,
        pages: pages.map(listedPageView),
        matching,
        counts: counted?.counts ?? null,
        next: next === null ? null : writePlaceText([next.key, next.path]),
      }
    },
  })

  add('POST', 'pages/purge', 'purgePages', {
    summary: 'Delete stored pages of a domain: listed ones, or all that a search or a filter finds',
    description:
      'Deletes all of them or none, and always the whole sitemap cache and redirect cache of the domain.',
    heaviness: heavinessOf,
    body: pageChoiceSchema,
    refuses: ['too_many_to_purge'],
    response: { 200: jsonResponse('Deleted', purgedSchema) },
    handler: async (domain, { body }) => {
      const chosen = chosenBy(domain, body, clock.nowMs())
      const keysDeleted = await retriedTransaction(pool, async (client) => {
        const atMost = { most: PURGE_LIMIT, refusal: 'too_many_to_purge' } as const
        const paths = await chosenPaths(client, domain, chosen, atMost)
        // A search also finds renders of pages that are not stored yet.
        const what: PurgeWhat =
          'nowMs' in chosen && chosen.filter === undefined && chosen.match !== null
            ? { kind: 'matching', match: chosen.match }
            : { kind: 'paths', paths }
        return deletePages(client, domain.id, what, 'purge')
      })
      await caughtUp()
      return { message: `Purged ${countText(keysDeleted, 'cache entry')} of ${domain.name}`, keysDeleted }
    },
  })

  add('POST', 'pages/refresh', 'refreshPages', {
    summary:
      'Delete stored pages of a domain and render them again: listed ones, or all that a search or a filter finds',
    description:
      'Refreshes all of them or none. Requests of crawlers are rendered first. Each stored page counts as a render.',
    heaviness: heavinessOf,
    body: pageChoiceSchema,
    refuses: ['too_many_to_refresh', 'domain_inactive', 'queue_full'],
    response: {
      200: jsonResponse('Queued', refreshPagesAnswer),
    },
    handler: async (domain, { body }) => {
      const chosen = chosenBy(domain, body, clock.nowMs())
      if (!domain.isActive) throw new AppError('domain_inactive')
      const pagesQueued = await retriedTransaction(pool, async (client) => {
        const paths = await chosenPaths(client, domain, chosen, AT_MOST_REFRESHED)
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

  add('POST', 'pages/rerender', 'rerenderPages', {
    summary:
      'Render pages of a domain again while the stored ones are served: listed ones, or all that a filter finds',
    description:
      'A stored page is served until the new one is stored, and stays if the render fails. Requests of crawlers are rendered first. Each page counts as a render.',
    heaviness: heavinessOf,
    body: rerenderBody,
    refuses: ['too_many_to_refresh', 'domain_inactive', 'queue_full'],
    response: { 200: jsonResponse('Queued', rerenderAnswer) },
    handler: async (domain, { body }) => {
      const chosen = chosenBy(domain, body, clock.nowMs())
      if (!domain.isActive) throw new AppError('domain_inactive')
      const jobs = await retriedTransaction(pool, async (client) => {
        const paths = await chosenPaths(client, domain, chosen, AT_MOST_REFRESHED)
        return rerenderPages(client, domain.id, paths)
      })
      return { jobs }
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

/** Throws `invalid_field` unless `text` is the "next" of a list in this order. */
function readPlace(text: string, order: (typeof PAGE_ORDERS)[number]): ListPlace {
  const [key, path, ...more] = readPlaceText(text)
  const isKey = key === null ? order.startsWith('last_') : typeof key === 'string' && KEYS[order].test(key)
  if (!isKey || typeof path !== 'string' || more.length > 0 || path.includes('\0')) {
    throw notNext()
  }
  return { key: typeof key === 'string' ? key : null, path }
}
