import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { listVersions, readVersion, VERSION_KINDS } from '../../site-files/versions.ts'
import { restoreVersion } from '../../sites/restore-version.ts'
import { authorOf } from '../http/access.ts'
import { type ApiApp, type ApiDeps, apiSchema, numberFrom } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'

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

const params = z.object({ id: z.string().describe('Of a version') })
const refuses = ['version_not_found'] as const

export function versions(app: ApiApp, deps: ApiDeps): void {
  const { caughtUp, clock, plans, pool } = deps
  const add = domainRoutes(app, pool, 'Site files')

  add('GET', 'versions', 'listVersions', {
    summary: 'The last 20 versions of one kind, newest first; the first one is in force',
    query: z.object({ kind }),
    response: { 200: jsonResponse('The versions', z.object({ versions: z.array(versionSchema) })) },
    handler: async ({ id }, { query }) => ({ versions: await listVersions(pool, id, query.kind) }),
  })

  add('GET', 'versions/:id', 'getVersion', {
    summary: 'One version with its content',
    params,
    refuses,
    response: { 200: jsonResponse('The version', versionWithContentSchema) },
    handler: async (domain, request) => {
      const found = await readVersion(pool, domain.id, versionId(request.params.id))
      if (found === null) throw new AppError('version_not_found')
      return found
    },
  })

  add('POST', 'versions/:id/restore', 'restoreVersion', {
    summary: 'Put a version back into force, as a new version',
    params,
    refuses: ['invalid_field', ...refuses],
    response: { 200: jsonResponse('The version that this made', versionWithContentSchema) },
    handler: async (domain, request) => {
      const by = { account: domain.account, domain, author: await authorOf(pool, request) }
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
