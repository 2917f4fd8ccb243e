import type { DomainId, DomainName, PagePath } from '../ids.ts'
import type { Origin } from '../outbound/origin.ts'
import { normalisePath, type QueryRule } from '../store/path.ts'

/** A domain, as whoever reads its origin's robots.txt and sitemaps needs it. */
export type Site = {
  id: DomainId
  name: DomainName
  origin: Origin
  query: QueryRule
}

/**
 * The stored path of an address that is the site's own, under its name or its
 * origin's, absolute or not; null: of another host, of another scheme, or none
 * that a page can have.
 */
export function pathOn(site: Site, address: string, base: string = '/'): PagePath | null {
  const url = URL.parse(address, `https://${site.name}${base}`)
  if (url === null || !/^https?:$/.test(url.protocol)) return null
  const { authority, hostname } = site.origin
  const isOwn = [site.name, authority, hostname].includes(url.host)
  return isOwn ? normalisePath(`${url.pathname}${url.search}`, site.query) : null
}
