import type { pageChoiceSchema, pageFilterSchema } from '@prepaint/contract/api/pages.ts'
import { AppError, type ErrorCode, invalidField } from '@prepaint/contract/errors.ts'
import type { PagePath } from '@prepaint/contract/ids.ts'
import { type PageId, type PageVariant, pageId } from '@prepaint/contract/page/page-id.ts'
import { normalisePath } from '@prepaint/contract/page/path.ts'
import type { ProblemPath } from '@prepaint/contract/problem.ts'
import {
  matchingPaths,
  type PageFilter,
  type PageMatch,
  type PagesWanted,
  pageMatch,
} from '@prepaint/pages/store/list-pages.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { OwnedDomain } from '@prepaint/service/sites/domains.ts'
import type { z } from 'zod'

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
function searchOf({ search, match }: { search: string; match?: PageMatch['kind'] | undefined }): PageMatch {
  const found = pageMatch(match ?? 'contains', search)
  if (found === null) throw invalidField(['search'], 'must not be empty')
  return found
}

/** What a list of pages finds with these parameters. */
export function filterOf(
  {
    search = '',
    match,
    ...filter
  }: PageFilter & { search?: string | undefined; match?: PageMatch['kind'] | undefined },
  nowMs: number,
): PagesWanted {
  return { match: pageMatch(match ?? 'contains', search), filter, nowMs }
}

type Choice = z.output<typeof pageChoiceSchema> | { filter: z.output<typeof pageFilterSchema> }

/** What a request chooses: paths that it names, or what finds them. Throws `invalid_field`. */
export function chosenBy(
  domain: OwnedDomain,
  choice: Choice,
  nowMs: number,
): readonly PagePath[] | PagesWanted {
  if ('paths' in choice) return pagePathsOf(domain, choice.paths)
  if ('filter' in choice) return filterOf(choice.filter, nowMs)
  return { match: searchOf(choice), nowMs }
}

/** Finds the stored pages that a request chooses. Throws `refusal` if these are more than `most`. */
export async function chosenPaths(
  db: Queryable,
  domain: OwnedDomain,
  chosen: readonly PagePath[] | PagesWanted,
  { most, refusal }: { most: number; refusal: ErrorCode },
): Promise<readonly PagePath[]> {
  if (!('nowMs' in chosen)) return chosen
  const paths = await matchingPaths(db, domain, chosen, most + 1)
  if (paths.length > most) throw new AppError(refusal)
  return paths
}

export function onePage(
  domain: OwnedDomain,
  { path = '/', variant }: { path?: string | undefined; variant?: PageVariant | undefined },
): PageId {
  return pageId(domain.id, pagePathOf(domain, path, ['path']), variant)
}
