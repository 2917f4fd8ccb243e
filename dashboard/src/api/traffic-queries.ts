import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { domainUrl } from './queries.ts'
import { request } from './request.ts'
import { type Range, rangeParams } from './traffic-range.ts'
import type { MonthOfRenders, Plan, Traffic, TrafficPaths, TrafficSummary } from './types.ts'

/** Counts are some seconds old at the server; asked for more often they tell nothing new. */
const EVERY_MS = 30_000

/** Where the traffic of a domain, or of all (null), is read. */
export const trafficUrl = (domain: string | null) => (domain === null ? '/api' : domainUrl(domain))

/** The same as a file. */
export function csvUrl(domain: string | null, part: '' | '/paths' | '/renders', range: Range): string {
  const params = new URLSearchParams(part === '/renders' ? '' : rangeParams(range, Date.now()))
  if (part === '/paths') {
    params.delete('step')
    params.set('limit', '300')
  }
  params.set('format', 'csv')
  return `${trafficUrl(domain)}/traffic${part}?${params}`
}

export const trafficQuery = (domain: string | null, range: Range) =>
  queryOptions({
    queryKey: ['domains', domain, 'traffic', range.name],
    queryFn: async ({ signal }) => {
      const url = `${trafficUrl(domain)}/traffic?${rangeParams(range, Date.now())}`
      return (await request<{ traffic: Traffic }>('GET', url, { signal })).traffic
    },
    refetchInterval: EVERY_MS,
    // The old range stays until the new one is there: nothing jumps.
    placeholderData: keepPreviousData,
  })

export const trafficPathsQuery = (domain: string, range: Range) =>
  queryOptions({
    queryKey: ['domains', domain, 'traffic-paths', range.name],
    queryFn: ({ signal }) => {
      const params = new URLSearchParams(rangeParams(range, Date.now()))
      params.delete('step')
      return request<TrafficPaths>('GET', `${domainUrl(domain)}/traffic/paths?${params}`, { signal })
    },
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData,
  })

export const monthOfRendersQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'traffic-renders'],
    queryFn: ({ signal }) =>
      request<MonthOfRenders>('GET', `${domainUrl(domain)}/traffic/renders`, { signal }),
    refetchInterval: EVERY_MS,
  })

export const trafficSummariesQuery = queryOptions({
  queryKey: ['traffic-summaries'],
  queryFn: async ({ signal }) =>
    (await request<{ domains: TrafficSummary[] }>('GET', '/api/traffic/domains', { signal })).domains,
  refetchInterval: EVERY_MS,
})

export const planQuery = queryOptions({
  queryKey: ['plan'],
  queryFn: async ({ signal }) => (await request<{ plan: Plan }>('GET', '/api/plan', { signal })).plan,
})
