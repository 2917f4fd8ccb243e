import { queryOptions } from '@tanstack/react-query'
import { request } from './request.ts'
import type { Channels, Delivery, Endpoint, Incident, Report } from './types.ts'

const read =
  <Data>(path: string) =>
  ({ signal }: { signal: AbortSignal }) =>
    request<Data>('GET', path, { signal })

/** Of the account, or of one domain: open first. Events of `incident` make it stale. */
export const incidentsQuery = (domain: string | null = null) =>
  queryOptions({
    queryKey: ['incidents', domain],
    queryFn: read<{ incidents: Incident[] }>(
      `/api/incidents${domain === null ? '' : `?${new URLSearchParams({ domain })}`}`,
    ),
    select: ({ incidents }) => incidents,
  })

export const channelsQuery = queryOptions({
  queryKey: ['channels'],
  queryFn: read<Channels>('/api/notifications'),
})

export const endpointsQuery = queryOptions({
  queryKey: ['endpoints'],
  queryFn: read<{ endpoints: Endpoint[] }>('/api/endpoints'),
  select: ({ endpoints }) => endpoints,
})

/** Polled while one is on its way. */
export const deliveriesQuery = (endpoint: number) =>
  queryOptions({
    queryKey: ['deliveries', endpoint],
    queryFn: read<{ deliveries: Delivery[] }>(`/api/endpoints/${endpoint}/deliveries?limit=50`),
    select: ({ deliveries }) => deliveries,
    refetchInterval: ({ state }) =>
      state.data?.deliveries.some((each) => each.state === 'waiting') === true ? 2_000 : 15_000,
  })

export const reportQuery = (week: string | null) =>
  queryOptions({
    queryKey: ['report', week],
    queryFn: read<{ report: Report }>(`/api/report${week === null ? '' : `?week=${week}`}`),
    select: ({ report }) => report,
  })
