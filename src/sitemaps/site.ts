import type { DomainId, DomainName, PagePath } from '../ids.ts'
import type { Origin } from '../outbound/origin.ts'
import { normalisePath, type QueryRule } from '../store/path.ts'

/** A domain whose robots.txt and sitemaps are read. */
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
export function pathOn(
  { name, origin, query }: Omit<Site, 'id'>,
  address: string,
  base: string = '/',
): PagePath | null {
  const url = URL.parse(address, `https://${name}${base}`)
  if (url === null || !/^https?:$/.test(url.protocol)) return null
  const isOwn = [name, origin.authority, origin.hostname].includes(url.host)
  return isOwn ? normalisePath(`${url.pathname}${url.search}`, query) : null
}

/** An absolute address on the origin's host, on the custom domain; null for any other. */
export function publicUrl({ origin, name }: Site, address: string): string | null {
  const url = URL.parse(address)
  if (url === null || (url.host !== origin.authority && url.host !== origin.hostname)) return null
  return `https://${name}${url.pathname}${url.search}`
}
