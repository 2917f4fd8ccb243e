import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { domainUrl, type PageConditions, withConditions } from './queries.ts'
import { request } from './request.ts'
import type { PageList } from './types.ts'

const COUNTS_POLL_MS = 30_000

/** How many pages each value of a filter finds. A million pages take a second, so events do not ask for it again. */
export const pageCountsQuery = (domain: string, filter: PageConditions) => {
  const query = `${withConditions(new URLSearchParams({ limit: '1' }), filter)}`
  return queryOptions({
    queryKey: ['domains', domain, 'page-counts', query],
    queryFn: async ({ signal }) => {
      const { counts } = await request<PageList>('GET', `${domainUrl(domain)}/pages?${query}`, { signal })
      return counts
    },
    refetchInterval: COUNTS_POLL_MS,
    placeholderData: keepPreviousData,
  })
}
