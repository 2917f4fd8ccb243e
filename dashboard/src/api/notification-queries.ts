import { queryOptions } from '@tanstack/react-query'
import { fieldQuery, wholeQuery } from './queries.ts'
import type { Channels, Delivery, Endpoint, Incident, Report } from './types.ts'

/** Of the account, or of one domain: open first. Events of `incident` make it stale. */
export const incidentsQuery = (domain: string | null = null) => {
  const query = domain === null ? '' : `?domain=${encodeURIComponent(domain)}`
  return fieldQuery<Incident[]>(['incidents', domain], `/api/incidents${query}`, 'incidents')
}

export const channelsQuery = wholeQuery<Channels>(['channels'], '/api/notifications')

export const endpointsQuery = fieldQuery<Endpoint[]>(['endpoints'], '/api/endpoints', 'endpoints')

/** Polled while one is on its way. */
export const deliveriesQuery = (endpoint: number) => {
  const path = `/api/endpoints/${endpoint}/deliveries?limit=50`
  return queryOptions({
    ...fieldQuery<Delivery[]>(['deliveries', endpoint], path, 'deliveries'),
    refetchInterval: ({ state: { data = [] } }) =>
      data.some(({ state }) => state === 'waiting') ? 2_000 : 15_000,
  })
}

export const reportQuery = (week: string | null) =>
  fieldQuery<Report>(['report', week], `/api/report${week === null ? '' : `?week=${week}`}`, 'report')
