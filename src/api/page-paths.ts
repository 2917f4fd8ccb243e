import { z } from 'zod'

import type { OwnedDomain } from '../accounts/domains.ts'
import { AppError } from '../errors.ts'
import type { PagePath } from '../ids.ts'
import { normalisePath } from '../pages/path.ts'

export const REFRESH_PATH_LIMIT = 1_000

/** `paths` of a refresh. */
export const pathsSchema = z
  .array(z.string().startsWith('/', 'must start with /'))
  .min(1)
  .max(REFRESH_PATH_LIMIT)
  .describe('Paths beginning with `/`; duplicates are joined')

/**
 * Paths as they are stored for this domain, each once, in the order given.
 * Throws `invalid_field` with the first that cannot be the path of a page.
 */
export function pagePathsOf(domain: OwnedDomain, paths: readonly string[]): PagePath[] {
  const found = paths.map((raw, index) => {
    const path = normalisePath(raw, domain.settings.query)
    if (path === null)
      throw new AppError('invalid_field', { word: `paths[${index}] is not the path of a page` })
    return path
  })
  return [...new Set(found)]
}
