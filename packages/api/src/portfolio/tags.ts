import { listTagsAnswer, replaceTagsAnswer, replaceTagsBody } from '@prepaint/contract/api/tags.ts'
import { listTags, replaceTags } from '@prepaint/service/sites/tags.ts'
import { changerOf } from '../http/access.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, domainRoutes } from '../http/routes.ts'

export function tags(app: ApiApp, { pool }: ApiParts): void {
  const add = domainRoutes(app, pool, 'Portfolio')

  accountRoutes(app, 'Portfolio')('GET', '/api/tags', 'listTags', {
    summary: 'The tags of all domains, by name. A tag that no domain has is gone',
    response: { 200: jsonResponse('The tags', listTagsAnswer) },
    handler: async (scope) => ({ tags: await listTags(pool, scope) }),
  })

  add('PUT', 'tags', 'replaceTags', {
    summary: 'Replace the tags of a domain: at most 20, of 1 to 40 characters',
    description:
      'Tags that differ only in case are one. Commas, semicolons and control characters are refused.',
    body: replaceTagsBody,
    response: { 200: jsonResponse('The tags after the change', replaceTagsAnswer) },
    handler: async (domain, request) => {
      const { tags: given } = request.body
      await replaceTags(pool, domain.account, domain.id, given, changerOf(request))
      return { tags: given }
    },
  })
}
