import type { DomainId, PagePath } from '../ids.ts'

export type PageVariant = 'desktop'

/**
 * `key` is unique, because a domain id is digits and a path begins with `/`. Keys below a prefix begin with its key.
 * The domain must have been found through its account or its host.
 */
export type PageId = {
  readonly domain: DomainId
  readonly path: PagePath
  readonly variant: PageVariant
  readonly key: string
}

/** Create once per remembered URL, claimed job or API request, not per hit. */
export function pageId(domain: DomainId, path: PagePath): PageId {
  return { domain, path, variant: 'desktop', key: pageKey(domain, path) }
}

export function pageKey(domain: DomainId, path: string): string {
  return `${domain}${path}`
}
