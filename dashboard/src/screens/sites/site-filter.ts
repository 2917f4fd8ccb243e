import {
  PORTFOLIO_ORDERS,
  PORTFOLIO_STATES,
  type PortfolioSort,
} from '@prepaint/contract/portfolio-orders.ts'
import { useCallback, useMemo } from 'react'
import { useLocation, useSearch } from 'wouter'
import type { SiteFilter } from '../../api/portfolio-queries.ts'
import { ROUTES } from '../../route-map.ts'

export const NO_FILTER: SiteFilter = { search: '', state: null, tag: null, sort: 'attention' }

/** Unknown values in an address are as absent ones. */
function filterFrom(search: string): SiteFilter {
  const query = new URLSearchParams(search)
  const state = PORTFOLIO_STATES.find((each) => each === query.get('state')) ?? null
  const sort = query.get('sort') ?? ''
  const isKnown = (PORTFOLIO_ORDERS as readonly string[]).includes(sort.replace(/^-/, ''))
  return {
    search: query.get('search') ?? '',
    state,
    tag: query.get('tag'),
    sort: isKnown ? (sort as PortfolioSort) : 'attention',
  }
}

/** Only what differs from the list as it is at first. */
function addressOf({ search, state, tag, sort }: SiteFilter): string {
  const query = new URLSearchParams()
  if (search !== '') query.set('search', search)
  if (state !== null) query.set('state', state)
  if (tag !== null) query.set('tag', tag)
  if (sort !== NO_FILTER.sort) query.set('sort', sort)
  return query.size === 0 ? ROUTES.domains : `${ROUTES.domains}?${query}`
}

export function isFiltered({ search, state, tag }: SiteFilter): boolean {
  return search !== '' || state !== null || tag !== null
}

/** The filter in the address. Changes make no entry in the browser's history. */
export function useSiteFilter(): [SiteFilter, (change: Partial<SiteFilter>) => void] {
  const search = useSearch()
  const [, navigate] = useLocation()
  const filter = useMemo(() => filterFrom(search), [search])
  const change = useCallback(
    (changed: Partial<SiteFilter>) => navigate(addressOf({ ...filter, ...changed }), { replace: true }),
    [filter, navigate],
  )
  return [filter, change]
}
