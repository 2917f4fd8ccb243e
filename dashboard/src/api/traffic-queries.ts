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

/** What the screen is about: a range up to now, or one UTC day of it, such as `2026-11-15`. */
export type Period = { range: Range; day: string | null }

/** The period with its steps. */
function periodParams({ range, day }: Period, nowMs: number): string {
  if (day === null) return rangeParams(range, nowMs)
  return new URLSearchParams({ ...wholeDay(day), step: 'hour' }).toString()
}

/** The same without a step, for data that is kept in whole days. */
function wholeDays({ range, day }: Period): string {
  return new URLSearchParams(day === null ? { from: startOf(range, Date.now()) } : wholeDay(day)).toString()
}

function wholeDay(day: string): { from: string; to: string } {
  return { from: day, to: dayAfter(day, 1) }
}

/** The UTC day so many days later. */
function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * STEP_MS.day).toISOString().slice(0, 10)
}

/** As many steps as the period has, before it. */
function paramsBefore({ range, day }: Period, nowMs: number): string {
  if (day !== null) return new URLSearchParams({ from: dayAfter(day, -1), to: day, step: 'hour' }).toString()
  const to = startOf(range, nowMs)
  const from = new Date(Date.parse(to) - range.steps * STEP_MS[range.step]).toISOString()
  return new URLSearchParams({ from, to, step: range.step }).toString()
}

/** The UTC days of a range, today first. */
export function daysOf(range: Range, nowMs: number): string[] {
  const first = startOf(range, nowMs).slice(0, 10)
  const days: string[] = []
  for (let day = new Date(nowMs).toISOString().slice(0, 10); day >= first; day = dayAfter(day, -1))
    days.push(day)
  return days
}

export function stepOf({ range, day }: Period): Range['step'] {
  return day === null ? range.step : 'hour'
}

function startOf({ steps, step }: Range, nowMs: number): string {
  const lastStepMs = Math.floor(nowMs / STEP_MS[step]) * STEP_MS[step]
  return new Date(lastStepMs - (steps - 1) * STEP_MS[step]).toISOString()
}

/** `domain` is null for the whole account. */
function trafficUrl(domain: string | null): string {
  return domain === null ? '/api/traffic' : `${domainUrl(domain)}/traffic`
}

export function trafficCsvUrl(domain: string | null, period: Period): string {
  return `${trafficUrl(domain)}?${periodParams(period, Date.now())}&format=csv`
}

export function pathsCsvUrl(domain: string, period: Period): string {
  return `${trafficUrl(domain)}/paths?${wholeDays(period)}&limit=${MAX_PATHS}&format=csv`
}

export function rendersCsvUrl(domain: string): string {
  return `${trafficUrl(domain)}/renders?format=csv`
}

const nameOf = ({ range, day }: Period) => day ?? range.name

export const trafficQuery = (domain: string | null, period: Period) =>
  queryOptions({
    queryKey: ['domains', domain, 'traffic', nameOf(period)],
    queryFn: ({ signal }) => readTraffic(domain, periodParams(period, Date.now()), signal),
    refetchInterval: POLL_MS,
    placeholderData: keepPreviousData,
  })

/** What has passed does not change, but its end moves on with the range. */
const BEFORE_STALE_MS = 600_000

/** The same of the period before, as long as this one. */
export const trafficBeforeQuery = (domain: string | null, period: Period) =>
  queryOptions({
    queryKey: ['domains', domain, 'traffic-before', nameOf(period)],
    queryFn: ({ signal }) => readTraffic(domain, paramsBefore(period, Date.now()), signal),
    staleTime: BEFORE_STALE_MS,
    refetchInterval: BEFORE_STALE_MS,
  })

async function readTraffic(domain: string | null, params: string, signal: AbortSignal): Promise<Traffic> {
  const { traffic } = await request<{ traffic: Traffic }>('GET', `${trafficUrl(domain)}?${params}`, {
    signal,
  })
  return traffic
}

export const trafficPathsQuery = (domain: string, period: Period) =>
  queryOptions({
    queryKey: ['domains', domain, 'traffic-paths', nameOf(period)],
    queryFn: ({ signal }) =>
      request<TrafficPaths>('GET', `${trafficUrl(domain)}/paths?${wholeDays(period)}`, { signal }),
    refetchInterval: POLL_MS,
    placeholderData: keepPreviousData,
  })

const MAX_CLIENTS = 100

export const unrecognisedQuery = (domain: string, period: Period) =>
  queryOptions({
    queryKey: ['domains', domain, 'unrecognised', nameOf(period)],
    queryFn: ({ signal }) => {
      const url = `${trafficUrl(domain)}/unrecognised?${wholeDays(period)}&limit=${MAX_CLIENTS}`
      return request<UnrecognisedClients>('GET', url, { signal })
    },
    refetchInterval: POLL_MS,
    placeholderData: keepPreviousData,
  })

export const complianceQuery = (domain: string, period: Period) =>
  queryOptions({
    queryKey: ['domains', domain, 'compliance', nameOf(period)],
    queryFn: async ({ signal }) => {
      const url = `${domainUrl(domain)}/compliance?${wholeDays(period)}`
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
