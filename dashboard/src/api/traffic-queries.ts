import { keepPreviousData, queryOptions } from '@tanstack/react-query'

import { domainUrl } from './queries.ts'
import { request } from './request.ts'
import type { Compliance, MonthOfRenders, Traffic, TrafficPaths, TrafficSummary } from './types.ts'

export const RANGES = [
  { name: '24h', label: '24 hours', steps: 24, step: 'hour' },
  { name: '7d', label: '7 days', steps: 7 * 24, step: 'hour' },
  { name: '30d', label: '30 days', steps: 30, step: 'day' },
  { name: '90d', label: '90 days', steps: 90, step: 'day' },
] as const

export type Range = (typeof RANGES)[number]

const STEP_MS = { hour: 3_600_000, day: 86_400_000 }

/** The server's counts lag by some seconds, so frequent polls would show nothing new. */
const POLL_MS = 30_000

export function rangeNamed(name: string | null): Range {
  return RANGES.find((range) => range.name === name) ?? RANGES[0]
}

export function rangeParams({ steps, step }: Range, nowMs: number): string {
  const from = Math.floor(nowMs / STEP_MS[step]) * STEP_MS[step] - (steps - 1) * STEP_MS[step]
  return new URLSearchParams({ from: new Date(from).toISOString(), step }).toString()
}

const trafficUrl = (domain: string | null) => (domain === null ? '/api' : domainUrl(domain))

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
    refetchInterval: POLL_MS,
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
    refetchInterval: POLL_MS,
    placeholderData: keepPreviousData,
  })

export const complianceQuery = (domain: string, range: Range) =>
  queryOptions({
    queryKey: ['domains', domain, 'compliance', range.name],
    queryFn: async ({ signal }) => {
      const params = new URLSearchParams(rangeParams(range, Date.now()))
      params.delete('step')
      const url = `${domainUrl(domain)}/compliance?${params}`
      return (await request<Compliance>('GET', url, { signal })).crawlers
    },
    refetchInterval: POLL_MS,
    placeholderData: keepPreviousData,
  })

export const monthOfRendersQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'traffic-renders'],
    queryFn: ({ signal }) =>
      request<MonthOfRenders>('GET', `${domainUrl(domain)}/traffic/renders`, { signal }),
    refetchInterval: POLL_MS,
  })

export const trafficSummariesQuery = queryOptions({
  queryKey: ['traffic-summaries'],
  queryFn: async ({ signal }) =>
    (await request<{ domains: TrafficSummary[] }>('GET', '/api/traffic/domains', { signal })).domains,
  refetchInterval: POLL_MS,
})
