import { formatParam } from '@prepaint/contract/api/api-schema.ts'
import {
  indexNowSchema,
  listVersionsAnswer,
  listVersionsQuery,
  redirectsAnswer,
  replaceRedirectsBody,
  robotsSchema,
  robotsVerdictSchema,
  testRobotsBody,
  versionWithContentSchema,
} from '@prepaint/contract/api/site-files.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { judgeCrawler } from '@prepaint/contract/site-files/judge-crawler.ts'
import { redirectsCsv } from '@prepaint/contract/site-files/redirect-csv.ts'
import { checkRedirects } from '@prepaint/contract/site-files/redirect-list.ts'
import { readIndexNow } from '@prepaint/pages/site-files/indexnow.ts'
import { robotsView } from '@prepaint/pages/site-files/robots-files.ts'
import {
  listRedirects,
  redirectsETag,
  replaceRedirects,
} from '@prepaint/pages/site-files/stored-redirects.ts'
import { listVersions, readVersion } from '@prepaint/pages/site-files/versions.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { domainRightsNow } from '@prepaint/service/accounts/actor.ts'
import type { OwnedDomain } from '@prepaint/service/sites/domains.ts'
import { restoreVersion } from '@prepaint/service/sites/restore-version.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { authorOf, changerOf } from '../http/access.ts'
import { type ApiApp, type ApiOptions, type ApiParts, numberFrom } from '../http/app.ts'
import { csvResponse, sendCsv, wantsCsv } from '../http/csv.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'

export function siteFiles(app: ApiApp, parts: ApiParts, options: ApiOptions): void {
  redirects(app, parts)
  robots(app, parts)
  versions(app, parts, options)
  indexNow(app, parts)
}

const TAG = 'Site files'

const BODY_LIMIT_BYTES = 8 * 1_048_576

function redirects(app: ApiApp, { caughtUp, pool }: ApiParts): void {
  const add = domainRoutes(app, pool, TAG)
  const query = z.object({ format: formatParam })
  type Asked = FastifyRequest & { query: z.infer<typeof query> }
  const list = async (domain: OwnedDomain, request: Asked, reply: FastifyReply) => {
    const redirects = await listRedirects(pool, domain)
    reply.header('ETag', redirectsETag(redirects))
    if (!wantsCsv(request, request.query.format)) return { domain: domain.name, redirects }
    return sendCsv(reply, `redirects-${domain.name}`, redirectsCsv(redirects))
  }

  add('GET', 'redirects', 'listRedirects', {
    summary: 'The redirects of a domain, in the order of the last change. `ETag` names this list',
    query,
    response: { 200: csvResponse('The redirects', redirectsAnswer) },
    handler: list,
  })

  add('PUT', 'redirects', 'replaceRedirects', {
    summary: 'Replace all redirects of a domain (at most 10,000), as JSON or as CSV (`from,to,status`)',
    description:
      'Nothing is saved if an entry is refused. With `If-Match`, only if the list is the one with that `ETag`.',
    query,
    body: replaceRedirectsBody,
    // Each entry that is refused is named with its line.
    takesCsv: BODY_LIMIT_BYTES,
    refuses: ['invalid_field', 'changed_meanwhile', 'redirects_too_large'],
    response: { 200: csvResponse('The redirects after the change', redirectsAnswer) },
    handler: async (domain, request, reply) => {
      const checked = checkRedirects(request.body, domain)
      if (!checked.ok) {
        const { error: word, lines, problems } = checked
        const fields = lines.length > 0 ? { lines } : {}
        throw new AppError('invalid_field', { word, fields, problems })
      }
      const rights = { by: changerOf(request), domain: domain.id }
      const admit = (client: Queryable) => domainRightsNow(client, domain.account, rights, 'replaceRedirects')
      const how = { author: authorOf(request), ifMatch: request.headers['if-match'], admit }
      await replaceRedirects(pool, domain, checked.redirects, how)
      await caughtUp()
      return list(domain, request, reply)
    },
  })
}

function robots(app: ApiApp, { pool, robots: files }: ApiParts): void {
  const add = domainRoutes(app, pool, TAG)

  add('GET', 'robots', 'getRobots', {
    summary: 'The robots.txt of a domain, as its owner wrote it and as it is served now',
    response: { 200: jsonResponse('robots.txt', robotsSchema) },
    handler: (domain) => robotsView(pool, files, domain),
  })

  add('POST', 'robots/test', 'testRobots', {
    summary: 'Whether a crawler may request a path, by what is served now or by another text',
    body: testRobotsBody,
    refuses: ['origin_not_reached'],
    response: { 200: jsonResponse('The verdict', robotsVerdictSchema) },
    handler: async (domain, { body: { path, crawler, text } }) => {
      const judged = text ?? (await files.served(await files.siteOf(domain)))
      if (judged === null) throw new AppError('origin_not_reached')
      return judgeCrawler(judged, crawler, path)
    },
  })
}

function indexNow(app: ApiApp, { pool }: ApiParts): void {
  domainRoutes(app, pool, TAG)('GET', 'indexnow', 'getIndexNow', {
    summary: 'Whether search engines are told of changed pages, and how they answered',
    response: { 200: jsonResponse('The state', indexNowSchema) },
    handler: async ({ id, name, settings }) => ({
      domain: name,
      enabled: settings.indexnow,
      ...(await readIndexNow(pool, id)),
    }),
  })
}

function versions(app: ApiApp, { caughtUp, clock, pool }: ApiParts, { plans }: ApiOptions): void {
  const add = domainRoutes(app, pool, TAG)
  const params = z.object({ id: z.string().describe('Of a version') })
  const refuses = ['version_not_found'] as const

  add('GET', 'versions', 'listVersions', {
    summary: 'The last 20 versions of one kind, newest first; the first one is in force',
    query: listVersionsQuery,
    response: { 200: jsonResponse('The versions', listVersionsAnswer) },
    handler: async ({ id }, { query }) => ({ versions: await listVersions(pool, id, query.kind) }),
  })

  add('GET', 'versions/:id', 'getVersion', {
    summary: 'One version with its content',
    params,
    refuses,
    response: { 200: jsonResponse('The version', versionWithContentSchema) },
    handler: (domain, request) => readVersion(pool, domain.id, versionId(request.params.id)),
  })

  add('POST', 'versions/:id/restore', 'restoreVersion', {
    summary: 'Put a version back into force, as a new version',
    params,
    refuses: ['invalid_field', ...refuses],
    response: { 200: jsonResponse('The version that this made', versionWithContentSchema) },
    handler: async (domain, request) => {
      const by = { domain, author: authorOf(request), by: changerOf(request) }
      const view = { plans, nowMs: clock.nowMs() }
      const made = await restoreVersion(pool, by, versionId(request.params.id), view)
      await caughtUp()
      return made
    },
  })
}

/** Larger numbers than PostgreSQL has are unknown. */
function versionId(raw: string): number {
  const id = numberFrom(raw, 'version_not_found')
  if (id > 2_147_483_647) throw new AppError('version_not_found')
  return id
}
