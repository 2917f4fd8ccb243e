import { queryOptions } from '@tanstack/react-query'
import { request } from './request.ts'
import type { Channels, Delivery, Endpoint, Incident, Report } from './types.ts'

/** Of the account, or of one domain: open first. Events of `incident` make it stale. */
export const incidentsQuery = (domain: string | null = null) =>
  queryOptions({
    queryKey: ['incidents', domain],
    queryFn: async ({ signal }) => {
      const path = domain === null ? '/api/incidents' : `/api/incidents?${new URLSearchParams({ domain })}`
      return (await request<{ incidents: Incident[] }>('GET', path, { signal })).incidents
    },
  })

export const channelsQuery = queryOptions({
  queryKey: ['channels'],
  queryFn: ({ signal }) => request<Channels>('GET', '/api/notifications', { signal }),
})

export const endpointsQuery = queryOptions({
  queryKey: ['endpoints'],
  queryFn: async ({ signal }) =>
    (await request<{ endpoints: Endpoint[] }>('GET', '/api/endpoints', { signal })).endpoints,
})

/** Polled while one is on its way. */
export const deliveriesQuery = (endpoint: number) =>
  queryOptions({
    queryKey: ['deliveries', endpoint],
    queryFn: async ({ signal }) =>
      (
        await request<{ deliveries: Delivery[] }>('GET', `/api/endpoints/${endpoint}/deliveries?limit=50`, {
          signal,
        })
      ).deliveries,
    refetchInterval: ({ state }) =>
      state.data?.some((each) => each.state === 'waiting') === true ? 2_000 : 15_000,
  })

export const reportQuery = (week: string | null) =>
  queryOptions({
    queryKey: ['report', week],
    queryFn: async ({ signal }) =>
      (
        await request<{ report: Report }>('GET', `/api/report${week === null ? '' : `?week=${week}`}`, {
          signal,
        })
      ).report,
  })
