import { invalidField } from '@prepaint/contract/errors.ts'
import type { PagePath } from '@prepaint/contract/ids.ts'
import { type PageId, type PageVariant, pageId } from '@prepaint/contract/page/page-id.ts'
import { normalisePath } from '@prepaint/contract/page/path.ts'
import type { ProblemPath } from '@prepaint/contract/problem.ts'
import { type PageMatch, pageMatch } from '@prepaint/pages/store/list-pages.ts'
import type { OwnedDomain } from '@prepaint/service/sites/domains.ts'

/** Unique stored paths. Throws `invalid_field` for the first invalid one. */
export function pagePathsOf(domain: OwnedDomain, paths: readonly string[]): PagePath[] {
  return [...new Set(paths.map((raw, index) => pagePathOf(domain, raw, ['paths', index])))]
}

function pagePathOf(domain: OwnedDomain, raw: string, field: ProblemPath): PagePath {
  const path = normalisePath(raw, domain.settings.query)
  if (path === null) throw invalidField(field, 'is not the path of a page')
  return path
}

/** Throws `invalid_field` for a search that matches every page: purge the domain instead. */
export function searchOf({
  search,
  match,
}: {
  search: string
  match?: PageMatch['kind'] | undefined
}): PageMatch {
  const found = pageMatch(match ?? 'contains', search)
  if (found === null) throw invalidField(['search'], 'must not be empty')
  return found
}

export function onePage(
  domain: OwnedDomain,
  { path = '/', variant }: { path?: string | undefined; variant?: PageVariant | undefined },
): PageId {
  return pageId(domain.id, pagePathOf(domain, path, ['path']), variant)
}
