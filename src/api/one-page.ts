import { z } from 'zod'

import type { OwnedDomain } from '../accounts/domains.ts'
import { AppError } from '../errors.ts'
import type { PagePath } from '../ids.ts'
import { normalisePath } from '../pages/path.ts'

/** Names one page of a domain. */
export const onePageQuery = z.object({
  path: z.string().startsWith('/', 'must start with /').optional().describe('`/`, if nothing is said'),
})

/** As it is stored for this domain. Throws `invalid_field` for what cannot be the path of a page. */
export function onePagePath(domain: OwnedDomain, raw = '/'): PagePath {
  const path = normalisePath(raw, domain.settings.query)
  if (path === null) throw new AppError('invalid_field', { word: 'path is not the path of a page' })
  return path
}
