import { z } from 'zod'
import { AppError } from '../../errors.ts'
import type { OwnedDomain } from '../../sites/domains.ts'
import { MATCH_LIMIT_CHARS, type PageMatch, pageMatch } from '../../store/list-pages.ts'
import { type PageId, pageId } from '../../store/page-id.ts'
import { normalisePath } from '../../store/path.ts'
import { pathsSchema } from '../cache/refresh.ts'

/** What a search of pages looks for. */
export const searchSchema = z
  .string()
  .max(MATCH_LIMIT_CHARS)
  .describe('Text that paths hold, in any case; as it is stored, or as a person types it')

export const matchSchema = z
  .enum(['contains', 'prefix'])
  .describe('`prefix`: paths begin with the text, letter by letter')

/** Some pages of a domain: those that are named, or all that a search finds. */
export const pageChoiceSchema = z.union(
  [
    z.strictObject({ paths: pathsSchema }),
    z.strictObject({ search: searchSchema.min(1), match: matchSchema.optional() }),
  ],
  'must have "paths", or "search" with "match"',
)

/** Throws `invalid_field` for a search that would find every page: that is a purge of all. */
export function searchOf({
  search,
  match,
}: {
  search: string
  match?: PageMatch['kind'] | undefined
}): PageMatch {
  const found = pageMatch(match ?? 'contains', search)
  if (found === null) throw new AppError('invalid_field', { word: 'search must not be empty' })
  return found
}

/** Names one page of a domain. */
export const onePageQuery = z.object({
  path: z.string().startsWith('/', 'must start with /').optional().describe('`/`, if nothing is said'),
})

/** As it is stored for this domain. Throws `invalid_field` for what cannot be the path of a page. */
export function onePage(domain: OwnedDomain, raw = '/'): PageId {
  const path = normalisePath(raw, domain.settings.query)
  if (path === null) throw new AppError('invalid_field', { word: 'path is not the path of a page' })
  return pageId(domain.id, path)
}
