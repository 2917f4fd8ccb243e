import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { listVersions, readVersion, VERSION_KINDS } from '../../site-files/versions.ts'
import { restoreVersion } from '../../sites/restore-version.ts'
import { domainParams, ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { type ApiApp, type ApiDeps, apiSchema, numberFrom } from '../http/app.ts'
import { authorOf } from '../http/author.ts'
import { jsonResponse } from '../http/responses.ts'

const kind = z.enum(VERSION_KINDS).describe('`policy`: categories, preferences and terms_url')

const version = z.object({
  id: z.int(),
  kind,
  created_at: z.iso.datetime({ precision: 3 }),
  author: z.string().describe('An e-mail address, `key <name>` or `command line`'),
})

export const versionSchema = apiSchema('Version', version)

export const versionWithContentSchema = apiSchema(
  'VersionWithContent',
  version.extend({ content: z.unknown() }),
)

const versionParams = domainParams.extend({ id: z.string().describe('Of a version') })

export function versions(app: ApiApp, deps: ApiDeps): void {
  const { caughtUp, clock, plans, pool } = deps

  app.route({
    method: 'GET',
    url: '/api/domains/:domain/versions',
    config: { access: 'key', refuses: ['domain_not_found'] },
    schema: {
      operationId: 'listVersions',
      tags: ['Site files'],
      summary: 'The last 20 versions of one kind, newest first; the first one is in force',
      params: domainParams,
      querystring: z.object({ kind }),
      response: { 200: jsonResponse('The versions', z.object({ versions: z.array(versionSchema) })) },
    },
    handler: async (request) => {
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      return { versions: await listVersions(pool, domain.id, request.query.kind) }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/domains/:domain/versions/:id',
    config: { access: 'key', refuses: ['domain_not_found', 'version_not_found'] },
    schema: {
      operationId: 'getVersion',
      tags: ['Site files'],
      summary: 'One version with its content',
      params: versionParams,
      response: { 200: jsonResponse('The version', versionWithContentSchema) },
    },
    handler: async (request) => {
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      const found = await readVersion(pool, domain.id, versionId(request.params.id))
      if (found === null) throw new AppError('version_not_found')
      return found
    },
  })

  app.route({
    method: 'POST',
    url: '/api/domains/:domain/versions/:id/restore',
    config: { access: 'key', refuses: ['invalid_field', 'domain_not_found', 'version_not_found'] },
    schema: {
      operationId: 'restoreVersion',
      tags: ['Site files'],
      summary: 'Put a version back into force, as a new version',
      params: versionParams,
      response: { 200: jsonResponse('The version that this made', versionWithContentSchema) },
    },
    handler: async (request) => {
      const { account } = callerOf(request)
      const domain = await ownedDomain(pool, account, request.params.domain)
      const author = await authorOf(pool, request)
      const id = versionId(request.params.id)
      const view = { plans, nowMs: clock.nowMs() }
      const made = await restoreVersion(pool, { account, domain, author }, id, view)
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
