import type { DomainId, PagePath } from '../ids.ts'

export type PageVariant = 'desktop'

/**
 * Keys are unique: a domain id is digits and a path begins with `/`. The domain was found through its account or
 * host.
 */
export type PageId = {
  readonly domain: DomainId
  readonly path: PagePath
  readonly variant: PageVariant
  readonly key: string
}

export function pageId(domain: DomainId, path: PagePath): PageId {
  return { domain, path, variant: 'desktop', key: pageKey(domain, path) }
}

export function pageKey(domain: DomainId, path: string): string {
  return `${domain}${path}`
}
