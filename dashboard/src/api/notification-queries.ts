import { useMutation, useQueryClient } from '@tanstack/react-query'
import { notifyFailed } from '../parts/notifications.tsx'
import { fieldQuery, wholeQuery } from './queries.ts'
import { request } from './request.ts'
import type { Channels, Delivery, Endpoint, Incident, Report } from './types.ts'

/** Of the account, or of one domain: open first. Events of `incident` make it stale. */
export const incidentsQuery = (domain: string | null = null) => {
  const query = domain === null ? '' : `?domain=${encodeURIComponent(domain)}`
  return fieldQuery<Incident[]>(['incidents', domain], `/api/incidents${query}`, 'incidents')
}

export const channelsQuery = wholeQuery<Channels>(['channels'], '/api/notifications')

export const endpointsQuery = fieldQuery<Endpoint[]>(['channels', 'endpoints'], '/api/endpoints', 'endpoints')

/** No event tells of deliveries. */
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

/** Sends a request, and reads all about channels again. */
export function useChannelRequest<Answer>() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (sent: Parameters<typeof request>) => request<Answer>(...sent),
    onSuccess: () => queries.invalidateQueries({ queryKey: channelsQuery.queryKey }),
    onError: (error) => notifyFailed('That did not work', error),
  })
}
