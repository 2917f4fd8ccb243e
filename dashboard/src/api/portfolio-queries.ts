import type { PORTFOLIO_STATES, PortfolioSort } from '@prepaint/contract/portfolio-orders.ts'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { pollWhileLost } from '../live/stream.ts'
import { fieldQuery } from './queries.ts'
import { request } from './request.ts'
import type { Portfolio, PortfolioDomain, Tag, Template } from './types.ts'

/** What the list of sites is limited to; it stands in the address. */
export type SiteFilter = {
  search: string
  state: (typeof PORTFOLIO_STATES)[number] | null
  tag: string | null
  sort: PortfolioSort
}

/** Besides events: states and visits change without one. */
const POLL_MS = 30_000

export const portfolioQuery = (filter: SiteFilter) =>
  queryOptions({
    queryKey: ['portfolio', filter],
    queryFn: ({ signal }) => request<Portfolio>('GET', portfolioUrl(filter), { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: () => pollWhileLost() || POLL_MS,
  })

export function portfolioUrl({ search, state, tag, sort }: SiteFilter, format?: 'csv'): string {
  const query = new URLSearchParams({ sort })
  if (search !== '') query.set('search', search)
  if (state !== null) query.set('state', state)
  if (tag !== null) query.set('tag', tag)
  if (format !== undefined) query.set('format', format)
  return `/api/portfolio?${query}`
}

/** What the list of sites says of one of them; null: it is not in the account any more. */
export const siteQuery = (name: string) =>
  queryOptions({
    queryKey: ['portfolio', 'site', name],
    queryFn: async ({ signal }): Promise<PortfolioDomain | null> => {
      const query = new URLSearchParams({ search: name, sort: 'name' })
      // The search also finds names that contain this one.
      const { domains } = await request<Portfolio>('GET', `/api/portfolio?${query}`, { signal })
      return domains.find(({ custom_domain: found }) => found === name) ?? null
    },
    refetchInterval: () => pollWhileLost() || POLL_MS,
  })

export const tagsQuery = fieldQuery<Tag[]>(['tags'], '/api/tags', 'tags')

export const templatesQuery = fieldQuery<Template[]>(['templates'], '/api/templates', 'templates')
