import { Readable } from 'node:stream'
import {
  cacheStatsAnswer,
  DEFAULT_PATHS,
  listCachedPagesAnswer,
  purgeBody,
  purgedSchema,
  refreshAllAnswer,
  refreshAllBody,
  refreshAnswer,
  refreshBody,
} from '@prepaint/contract/api/cache.ts'
import { domainParams } from '@prepaint/contract/api/domain.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import { normalisePath, normalisePrefix } from '@prepaint/contract/page/path.ts'
import { refreshPages } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { listStoredPaths } from '@prepaint/pages/store/list-pages.ts'
import { countStored, type PurgeWhat, purgeDomains } from '@prepaint/pages/store/purge.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import { listOwnedDomains, type OwnedDomain } from '@prepaint/service/sites/domains.ts'
import type { z } from 'zod'
import { type ApiApp, type ApiParts, countText } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, ownedDomain } from '../http/routes.ts'
import { pagePathsOf } from '../pages/page-choice.ts'

export function cache(app: ApiApp, { caughtUp, pool }: ApiParts): void {
  const add = accountRoutes(app, 'Cache')

  add('GET', '/api/cache/list/:domain', 'listCachedPages', {
    summary: 'The stored pages of a domain, all in one response',
    params: domainParams,
    refuses: ['domain_not_found'],
    response: {
      200: jsonResponse<z.ZodType>('The pages', listCachedPagesAnswer),
    },
    handler: async (scope, request, reply) => {
      const domain = await ownedDomain(pool, scope, request.params.domain)
      const batches = app.heavyWork.each(scope.account, listStoredPaths(pool, domain.id))
      // Read the first batch before sending the status, so that an unreachable database gives an error.
      const first = await batches.next()
      reply.type('application/json; charset=utf-8')
      if (request.method === 'HEAD') return reply.send()
      return reply.send(Readable.from(listAsJson(domain.name, first, batches), { objectMode: false }))
    },
  })

  add('GET', '/api/cache/stats', 'cacheStats', {
    summary: 'How much is stored for all your domains',
    heaviness: 'read',
    response: {
      200: jsonResponse('The counts', cacheStatsAnswer),
    },
    handler: async (scope) => {
      const { domains, entries } = await countStored(pool, scope)
      return { totalKeys: entries, domainCount: domains }
    },
  })

  add('POST', '/api/cache/purge', 'purge', {
    summary: 'Delete stored pages of a domain',
    description: 'Always deletes the whole sitemap cache and redirect cache of the domain as well.',
    heaviness: ({ body: { path } }) => (path === undefined || path.endsWith('*') ? 'change' : null),
    body: purgeBody,
    refuses: ['domain_not_found'],
    response: { 200: jsonResponse('Deleted', purgedSchema) },
    handler: async (scope, request) => {
      const domain = await ownedDomain(pool, scope, request.body.domain)
      const what = whatToPurge(domain, request.body.path)
      const keysDeleted = await purgeDomains(pool, [domain.id], what)
      await caughtUp()
      return { message: `Purged ${countText(keysDeleted, 'cache entry')} of ${domain.name}`, keysDeleted }
    },
  })

  add('POST', '/api/cache/purge-all', 'purgeAll', {
    summary: 'Delete everything that is stored for all your domains',
    heaviness: 'change',
    response: { 200: jsonResponse('Deleted', purgedSchema) },
    handler: async (scope) => {
      const owned = await listOwnedDomains(pool, scope)
      const ids = owned.map(({ id }) => id)
      const keysDeleted = await purgeDomains(pool, ids, { kind: 'all' })
      await caughtUp()
      return {
        message: `Purged ${countText(keysDeleted, 'cache entry')} of ${countText(owned.length, 'domain')}`,
        keysDeleted,
      }
    },
  })

  add('POST', '/api/cache/refresh', 'refresh', {
    summary: 'Delete stored pages of a domain and render them again',
    description: `Without \`paths\`: ${DEFAULT_PATHS.map((path) => `\`${path}\``).join(', ')}. Requests of crawlers that wait are rendered first.`,
    body: refreshBody,
    refuses: ['domain_not_found', 'domain_inactive', 'queue_full'],
    response: {
      200: jsonResponse('The jobs', refreshAnswer),
    },
    handler: async (scope, request) => {
      const domain = await ownedDomain(pool, scope, request.body.domain)
      const paths = pagePathsOf(domain, request.body.paths ?? DEFAULT_PATHS)
      if (!domain.isActive) throw new AppError('domain_inactive')
      const jobs = await retriedTransaction(pool, (client) => refreshPages(client, domain.id, paths))
      await caughtUp()
      return {
        message: `Queued ${countText(jobs.length, 'page')} of ${domain.name} for refresh`,
        domain: domain.name,
        jobs,
      }
    },
  })

  add('POST', '/api/cache/refresh-all', 'refreshAll', {
    summary: 'Delete stored pages of all your active domains and render them again',
    description: 'Without `paths`: `/` of each domain.',
    heaviness: 'change',
    body: refreshAllBody,
    refuses: ['queue_full'],
    response: {
      200: jsonResponse('The jobs', refreshAllAnswer),
    },
    handler: async (scope, request) => {
      const owned = await listOwnedDomains(pool, scope)
      const active = owned.filter((domain) => domain.isActive)
      const wanted = active.map((domain) => ({
        domain,
        paths: pagePathsOf(domain, request.body.paths ?? ['/']),
      }))
      // All or nothing: if the queue fills up, no page changes.
      const jobs = await retriedTransaction(pool, async (client) => {
        const queued = []
        for (const { domain, paths } of wanted) {
          const ofDomain = await refreshPages(client, domain.id, paths)
          queued.push(...ofDomain.map((job) => ({ domain: domain.name, ...job })))
        }
        return queued
      })
      await caughtUp()
      return {
        message: `Queued ${countText(jobs.length, 'page')} of ${countText(active.length, 'domain')} for refresh`,
        totalDomains: active.length,
        totalJobs: jobs.length,
        jobs,
      }
    },
  })
}

/** One piece per batch, so memory is bounded. The count comes last, because pages change meanwhile. */
async function* listAsJson(
  domain: string,
  first: IteratorResult<readonly string[], void>,
  rest: AsyncGenerator<readonly string[], void>,
): AsyncGenerator<string> {
  const keyStart = JSON.stringify(`render:${domain}:`).slice(0, -1)
  let count = 0
  yield `{"domain":${JSON.stringify(domain)},"pages":[`
  for (let batch = first; batch.done !== true; batch = await rest.next()) {
    const entries = batch.value.map((path) => {
      const quoted = JSON.stringify(path)
      return `{"path":${quoted},"cacheKey":${keyStart}${quoted.slice(1)}}`
    })
    yield (count === 0 ? '' : ',') + entries.join(',')
    count += entries.length
  }
  yield `],"cachedPages":${count}}`
}

function whatToPurge(domain: OwnedDomain, path: string | undefined): PurgeWhat {
  if (path === undefined) return { kind: 'all' }
  if (path.endsWith('*')) {
    const prefix = normalisePrefix(path.slice(0, -1))
    if (prefix !== null) return { kind: 'prefix', prefix }
  } else {
    const normalised = normalisePath(path, domain.settings.query)
    if (normalised !== null) return { kind: 'path', path: normalised }
  }
  throw invalidField(['path'], 'is not the path of a page')
}
