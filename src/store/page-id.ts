import type { DomainId, PagePath } from '../ids.ts'

/** In which form a page is rendered; `mobile` would be the next one. */
export type PageVariant = 'desktop'

/**
 * The identity of a page. `key` names it in memory: a domain's id is digits and a path begins with `/`, so no two
 * pages have the same; the keys of all pages below a prefix begin with that of the prefix.
 */
export type PageId = {
  readonly domain: DomainId
  readonly path: PagePath
  readonly variant: PageVariant
  readonly key: string
}

/** Made once for a remembered URL, a claimed job or an API request, not for each hit. */
export function pageId(domain: DomainId, path: PagePath): PageId {
  return { domain, path, variant: 'desktop', key: pageKey(domain, path) }
}

/** `path`: of a page, or the beginning of paths. */
export function pageKey(domain: DomainId, path: string): string {
  return `${domain}${path}`
}
