import { keepPreviousData, queryOptions } from '@tanstack/react-query'

import { domainUrl } from './queries.ts'
import { request } from './request.ts'
import type {
  Compliance,
  MonthOfRenders,
  Traffic,
  TrafficPaths,
  TrafficSummary,
  UnrecognisedClients,
} from './types.ts'

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

/** The API lists at most so many paths. */
const MAX_PATHS = 300

/** Returns the first range for an unknown name. */
export function rangeNamed(name: string | null): Range {
  return RANGES.find((range) => range.name === name) ?? RANGES[0]
}

export function rangeParams(range: Range, nowMs: number): string {
  return new URLSearchParams({ from: startOf(range, nowMs), step: range.step }).toString()
}

/** The same without a step, for data that is kept in whole days. */
function wholeDays(range: Range): string {
  return new URLSearchParams({ from: startOf(range, Date.now()) }).toString()
}

function startOf({ steps, step }: Range, nowMs: number): string {
  const lastStepMs = Math.floor(nowMs / STEP_MS[step]) * STEP_MS[step]
  return new Date(lastStepMs - (steps - 1) * STEP_MS[step]).toISOString()
}

/** `domain` is null for the whole account. */
function trafficUrl(domain: string | null): string {
  return domain === null ? '/api/traffic' : `${domainUrl(domain)}/traffic`
}

export function trafficCsvUrl(domain: string | null, range: Range): string {
  return `${trafficUrl(domain)}?${rangeParams(range, Date.now())}&format=csv`
}

export function pathsCsvUrl(domain: string, range: Range): string {
  return `${trafficUrl(domain)}/paths?${wholeDays(range)}&limit=${MAX_PATHS}&format=csv`
}

export function rendersCsvUrl(domain: string): string {
  return `${trafficUrl(domain)}/renders?format=csv`
}

export const trafficQuery = (domain: string | null, range: Range) =>
  queryOptions({
    queryKey: ['domains', domain, 'traffic', range.name],
    queryFn: async ({ signal }) => {
      const url = `${trafficUrl(domain)}?${rangeParams(range, Date.now())}`
      const { traffic } = await request<{ traffic: Traffic }>('GET', url, { signal })
      return traffic
    },
    refetchInterval: POLL_MS,
    placeholderData: keepPreviousData,
  })

export const trafficPathsQuery = (domain: string, range: Range) =>
  queryOptions({
    queryKey: ['domains', domain, 'traffic-paths', range.name],
    queryFn: ({ signal }) =>
      request<TrafficPaths>('GET', `${trafficUrl(domain)}/paths?${wholeDays(range)}`, { signal }),
    refetchInterval: POLL_MS,
    placeholderData: keepPreviousData,
  })

const MAX_CLIENTS = 100

export const unrecognisedQuery = (domain: string, range: Range) =>
  queryOptions({
    queryKey: ['domains', domain, 'unrecognised', range.name],
    queryFn: ({ signal }) => {
      const url = `${trafficUrl(domain)}/unrecognised?${wholeDays(range)}&limit=${MAX_CLIENTS}`
      return request<UnrecognisedClients>('GET', url, { signal })
    },
    refetchInterval: POLL_MS,
    placeholderData: keepPreviousData,
  })

export const complianceQuery = (domain: string, range: Range) =>
  queryOptions({
    queryKey: ['domains', domain, 'compliance', range.name],
    queryFn: async ({ signal }) => {
      const url = `${domainUrl(domain)}/compliance?${wholeDays(range)}`
      const { crawlers } = await request<Compliance>('GET', url, { signal })
      return crawlers
    },
    refetchInterval: POLL_MS,
    placeholderData: keepPreviousData,
  })

export const monthOfRendersQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'traffic-renders'],
    queryFn: ({ signal }) => request<MonthOfRenders>('GET', `${trafficUrl(domain)}/renders`, { signal }),
    refetchInterval: POLL_MS,
  })

export const trafficSummariesQuery = queryOptions({
  queryKey: ['traffic-summaries'],
  queryFn: async ({ signal }) => {
    const answer = await request<{ domains: TrafficSummary[] }>('GET', '/api/traffic/domains', { signal })
    return answer.domains
  },
  refetchInterval: POLL_MS,
})
