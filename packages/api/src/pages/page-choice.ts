import { AppError } from '@prepaint/contract/errors.ts'
import type { PagePath } from '@prepaint/contract/ids.ts'
import { FORMS } from '@prepaint/contract/outcome/form.ts'
import { PAGE_VARIANTS, type PageId, type PageVariant, pageId } from '@prepaint/contract/page/page-id.ts'
import { normalisePath } from '@prepaint/contract/page/path.ts'
import { MATCH_LIMIT_CHARS, type PageMatch, pageMatch } from '@prepaint/pages/store/list-pages.ts'
import type { OwnedDomain } from '@prepaint/service/sites/domains.ts'
import { z } from 'zod'

export const REFRESH_PATH_LIMIT = 1_000

export const pathsSchema = z
  .array(z.string().startsWith('/', 'must start with /'))
  .min(1)
  .max(REFRESH_PATH_LIMIT)
  .describe('Paths beginning with `/`; duplicates are joined')

/** Unique stored paths. Throws `invalid_field` for the first invalid one. */
export function pagePathsOf(domain: OwnedDomain, paths: readonly string[]): PagePath[] {
  return [...new Set(paths.map((raw, index) => pagePathOf(domain, raw, `paths[${index}]`)))]
}

function pagePathOf(domain: OwnedDomain, raw: string, field: string): PagePath {
  const path = normalisePath(raw, domain.settings.query)
  if (path === null) throw new AppError('invalid_field', { word: `${field} is not the path of a page` })
  return path
}

export const searchSchema = z
  .string()
  .max(MATCH_LIMIT_CHARS)
  .describe('Text that is in the path, in any case, encoded or not')

export const matchSchema = z
  .enum(['contains', 'prefix'])
  .describe('`prefix`: the path begins with this text, case-sensitive')

/** Listed pages, or all pages that match a search. */
export const pageChoiceSchema = z.union(
  [
    z.strictObject({ paths: pathsSchema }),
    z.strictObject({ search: searchSchema.min(1), match: matchSchema.optional() }),
  ],
  'must have "paths", or "search" with "match"',
)

/** Throws `invalid_field` for a search that matches every page: purge the domain instead. */
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

export const variantSchema = z
  .enum(PAGE_VARIANTS)
  .optional()
  .describe('The device that it was rendered for. Default: `desktop`')

export const onePageQuery = z.object({
  path: z.string().startsWith('/', 'must start with /').optional().describe('Default: `/`'),
  variant: variantSchema,
  form: z.enum(FORMS).optional().describe('Default: `html`'),
})

export function onePage(
  domain: OwnedDomain,
  { path = '/', variant }: { path?: string | undefined; variant?: PageVariant | undefined },
): PageId {
  return pageId(domain.id, pagePathOf(domain, path, 'path'), variant)
}
