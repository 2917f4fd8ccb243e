import { Readable } from 'node:stream'
import type pg from 'pg'
import { z } from 'zod'
import { listStoredPaths } from '../../store/list-pages.ts'
import { countStored } from '../../store/purge.ts'
import { domainParams, ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { answer, KEY_REFUSALS, refusals } from '../http/answer.ts'
import type { ApiApp } from '../http/app.ts'

const listSchema = z.object({
  domain: z.string(),
  cachedPages: z.int().describe('Number of entries of `pages`'),
  pages: z
    .array(
      z.object({
        path: z.string().describe('Path beginning with `/`, with its normalised query'),
        cacheKey: z.string().describe('`render:<domain>:<path>`'),
      }),
    )
    .describe('By path'),
})

export function cacheList(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/cache/list/:domain',
    config: { access: 'key' },
    schema: {
      operationId: 'listCachedPages',
      tags: ['Cache'],
      summary: 'The stored pages of a domain, all in one answer',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: { 200: answer('The pages', listSchema), ...refusals(...KEY_REFUSALS, 'domain_not_found') },
    },
    handler: async (request, reply) => {
      const domain = await ownedDomain(deps.pool, callerOf(request).account, request.params.domain)
      const batches = listStoredPaths(deps.pool, domain.id)
      // The first batch before the status: a database that is away is then still told as an error.
      const first = await batches.next()
      reply.type('application/json; charset=utf-8')
      if (request.method === 'HEAD') return reply.send()
      return reply.send(Readable.from(listAsJson(domain.name, first, batches), { objectMode: false }))
    },
  })
}

/**
 * The answer in pieces, one for each batch, so that memory does not grow with
 * the list. The count comes last: it is the number of entries that were sent,
 * whatever is stored or purged meanwhile.
 */
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
      // Quoted once: the key is the path with something before it.
      const quoted = JSON.stringify(path)
      return `{"path":${quoted},"cacheKey":${keyStart}${quoted.slice(1)}}`
    })
    yield (count === 0 ? '' : ',') + entries.join(',')
    count += entries.length
  }
  yield `],"cachedPages":${count}}`
}

const statsSchema = z.object({
  totalKeys: z.int().describe('What a purge of all domains would delete now'),
  domainCount: z.int(),
})

export function cacheStats(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/cache/stats',
    config: { access: 'key' },
    schema: {
      operationId: 'cacheStats',
      tags: ['Cache'],
      summary: 'How much is stored for all your domains',
      security: [{ ApiKey: [] }],
      response: { 200: answer('The counts', statsSchema), ...refusals(...KEY_REFUSALS) },
    },
    handler: async (request) => {
      const { domains, entries } = await countStored(deps.pool, callerOf(request).account)
      return { totalKeys: entries, domainCount: domains }
    },
  })
}
