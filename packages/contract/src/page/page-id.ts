import type { DomainId, PagePath } from '../ids.ts'

/** The variants of a page, in the order in which a job renders them. */
export const PAGE_VARIANTS = ['desktop', 'mobile'] as const
/** The device that a page is rendered for. */
export type PageVariant = (typeof PAGE_VARIANTS)[number]

/**
 * Keys are unique: a domain id is digits, a path begins with `/` and has no space. The domain was found through its
 * account or host.
 */
export type PageId = {
  readonly domain: DomainId
  readonly path: PagePath
  readonly variant: PageVariant
  readonly key: string
}

/** `spelling`: as a crawler spelt the path, where that differs; without click parameters. */
export type AskedPage = PageId & { readonly spelling?: PagePath }

export function pageId(domain: DomainId, path: PagePath, variant: PageVariant = 'desktop'): PageId {
  const key = pageKey(domain, path)
  return { domain, path, variant, key: variant === 'desktop' ? key : `${key} ${variant}` }
}

/** Returns the key of the desktop page. The keys of all variants begin with it. */
export function pageKey(domain: DomainId, path: string): string {
  return `${domain}${path}`
}

export function variantsOf({ domain, path }: Pick<PageId, 'domain' | 'path'>): PageId[] {
  return PAGE_VARIANTS.map((variant) => pageId(domain, path, variant))
}
