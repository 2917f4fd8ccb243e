import type { DomainId, DomainName, PagePath } from '../ids.ts'
import { normalisePath, type QueryRule } from '../page/path.ts'

export type Origin = {
  protocol: 'http:' | 'https:'
  /** Is written as in a URL: IPv6 with brackets. */
  hostname: string
  port: number
  authority: string
  /** Key of the connection pool (owner, scheme, authority). Customers never share connections. */
  key: string
  /** Headers of the owner, as name and value by turns. Sent to this address only. */
  headers?: readonly string[]
}

export type Site = {
  id: DomainId
  name: DomainName
  origin: Origin
  query: QueryRule
}

/** Returns the stored path of an address on the site or its origin. Returns null for another host or scheme, or an invalid path. */
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

/** Moves an absolute address from the origin's host to the custom domain. Returns null for other addresses. */
export function publicUrl({ origin, name }: Site, address: string): string | null {
  const url = URL.parse(address)
  if (url === null || (url.host !== origin.authority && url.host !== origin.hostname)) return null
  return `https://${name}${url.pathname}${url.search}`
}
