import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { checkRedirects, redirectsCsv } from '../../site-files/redirect-list.ts'
import { REDIRECT_STATUSES } from '../../site-files/redirects.ts'
import { listRedirects, redirectsETag, replaceRedirects } from '../../site-files/stored-redirects.ts'
import type { OwnedDomain } from '../../sites/domains.ts'
import { authorOf } from '../http/access.ts'
import { type ApiApp, type ApiDeps, apiSchema } from '../http/app.ts'
import { csvResponse, formatParam, sendCsv, wantsCsv } from '../http/csv.ts'
import { domainRoutes } from '../http/routes.ts'

const BODY_LIMIT_BYTES = 8 * 1_048_576

const address = z.string().max(2_048)
const status = z
  .union(REDIRECT_STATUSES.map((code) => z.literal(code)))
  .describe('Default: 301. 410 has no `to`')

const entrySchema = z.object({
  from: address.describe('A path without query; `*` at its end matches any further characters'),
  to: address
    .nullish()
    .describe('A path, or an address with http or https; `*` stands for the text that matched'),
  status: status.optional(),
})

export const redirectSchema = apiSchema(
  'Redirect',
  z.object({
    from: z.string(),
    to: z.string().nullable().describe('Null: gone (410)'),
    status,
    hits: z.int().describe('Counted within 10 seconds; kept while `from` stays'),
    last_used_at: z.iso.datetime({ precision: 3 }).nullable(),
    external: z.boolean().describe('It leads to another host'),
    shadows_page: z.boolean().describe('A stored page is behind it and is no longer served'),
  }),
)

const listSchema = z.object({ domain: z.string(), redirects: z.array(redirectSchema) })

export function redirects(app: ApiApp, { caughtUp, pool }: ApiDeps): void {
  const add = domainRoutes(app, pool, 'Site files')
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
    response: { 200: csvResponse('The redirects', listSchema) },
    handler: list,
  })

  add('PUT', 'redirects', 'replaceRedirects', {
    summary: 'Replace all redirects of a domain (at most 10,000), as JSON or as CSV (`from,to,status`)',
    description:
      'Nothing is saved if an entry is refused. With `If-Match`, only if the list is the one with that `ETag`.',
    query,
    body: z.object({ redirects: z.array(entrySchema).max(10_000) }),
    // Each entry that is refused is named with its line.
    takesCsv: BODY_LIMIT_BYTES,
    refuses: ['invalid_field', 'changed_meanwhile', 'redirects_too_large'],
    response: { 200: csvResponse('The redirects after the change', listSchema) },
    handler: async (domain, request, reply) => {
      const checked = checkRedirects(request.body, domain)
      if (!checked.ok) {
        const { error: word, lines } = checked
        throw new AppError('invalid_field', { word, ...(lines.length > 0 && { fields: { lines } }) })
      }
      const by = { author: await authorOf(pool, request), ifMatch: request.headers['if-match'] }
      await replaceRedirects(pool, domain, checked.redirects, by)
      await caughtUp()
      return list(domain, request, reply)
    },
  })
}
