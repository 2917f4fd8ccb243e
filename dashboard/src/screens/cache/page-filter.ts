import { useCallback, useMemo } from 'react'
import { useLocation, useSearch } from 'wouter'
import { PAGE_FILTERS, type PageConditions, type PageFilter } from '../../api/queries.ts'
import type { PageOrder } from '../../api/types.ts'
import { domainPath } from '../../route-map.ts'

export const ORDERS: readonly { order: PageOrder; title: string }[] = [
  { order: 'path', title: 'Path' },
  { order: 'status', title: 'Status' },
  { order: 'fresh_until', title: 'Freshness' },
  { order: 'rendered', title: 'Rendered' },
  { order: 'last_crawler', title: 'Last crawler' },
  { order: 'last_render', title: 'Last render' },
  { order: 'size', title: 'Size' },
]

export const NO_CONDITIONS: PageConditions = {
  search: '',
  match: 'contains',
  status: '',
  freshness: '',
  outcome: '',
  variant: '',
  unvisited: '',
}

function filterFrom(address: string): PageFilter {
  const query = new URLSearchParams(address)
  const filter: PageFilter = {
    ...NO_CONDITIONS,
    search: query.get('search') ?? '',
    match: query.get('match') === 'prefix' ? 'prefix' : 'contains',
    by: ORDERS.find(({ order }) => order === query.get('order'))?.order ?? 'path',
    isDescending: query.get('direction') === 'desc',
  }
  for (const name of PAGE_FILTERS) filter[name] = query.get(name) ?? ''
  return filter
}

/** Only what differs from the list as it is at first. */
function queryOf({ search, match, by, isDescending, ...filter }: PageFilter): URLSearchParams {
  const query = new URLSearchParams()
  if (search !== '') query.set('search', search)
  if (match !== NO_CONDITIONS.match) query.set('match', match)
  for (const name of PAGE_FILTERS) {
    const value = filter[name] ?? ''
    if (value !== '') query.set(name, value)
  }
  if (by !== 'path') query.set('order', by)
  if (isDescending) query.set('direction', 'desc')
  return query
}

/** The filter in the address. Changes make no entry in the browser's history. */
export function usePageFilter(domain: string): [PageFilter, (change: Partial<PageFilter>) => void] {
  const address = useSearch()
  const [, navigate] = useLocation()
  const filter = useMemo(() => filterFrom(address), [address])
  const change = useCallback(
    (changed: Partial<PageFilter>) => {
      const query = queryOf({ ...filter, ...changed })
      const path = domainPath('domainPages', domain)
      navigate(query.size === 0 ? path : `${path}?${query}`, { replace: true })
    },
    [domain, filter, navigate],
  )
  return [filter, change]
}

export function isFiltered(filter: PageConditions): boolean {
  return filter.search.trim() !== '' || PAGE_FILTERS.some((name) => (filter[name] ?? '') !== '')
}

/** The filter as bodies of requests have it. */
export function filterBody({ search, match, ...filter }: PageConditions): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  if (search.trim() !== '') {
    body['search'] = search.trim()
    body['match'] = match
  }
  for (const name of PAGE_FILTERS) {
    const value = filter[name] ?? ''
    if (value !== '') body[name] = name === 'unvisited' ? value === 'true' : value
  }
  return body
}
