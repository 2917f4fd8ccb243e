import { useMutation, useQueryClient } from '@tanstack/react-query'
import { notifyFailed } from '../parts/notifications.tsx'
import { fieldQuery, wholeQuery } from './queries.ts'
import { request } from './request.ts'
import type { Channels, Delivery, Endpoint, Incident, Report } from './types.ts'

/** The incidents of the account, or of one domain, open ones first. The event `incident` makes them stale. */
export const incidentsQuery = (domain: string | null = null) => {
  const query = domain === null ? '' : `?domain=${encodeURIComponent(domain)}`
  return fieldQuery<Incident[]>(['incidents', domain], `/api/incidents${query}`, 'incidents')
}

export const channelsQuery = wholeQuery<Channels>(['channels'], '/api/notifications')

export const endpointsQuery = fieldQuery<Endpoint[]>(['channels', 'endpoints'], '/api/endpoints', 'endpoints')

/** Polled, because there is no event for deliveries. */
export const deliveriesQuery = (endpoint: number) => ({
  ...fieldQuery<Delivery[]>(
    ['channels', 'deliveries', endpoint],
    `/api/endpoints/${endpoint}/deliveries?limit=50`,
    'deliveries',
  ),
  refetchInterval: 5_000,
})

export const reportQuery = (week: string | null) =>
  fieldQuery<Report>(['report', week], `/api/report${week === null ? '' : `?week=${week}`}`, 'report')

/** Sends a request, and reads all data of channels again. */
export function useChannelRequest<Answer>() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (parameters: Parameters<typeof request>) => request<Answer>(...parameters),
    onSuccess: () => queries.invalidateQueries({ queryKey: channelsQuery.queryKey }),
    onError: (error) => notifyFailed('That did not work', error),
  })
}
