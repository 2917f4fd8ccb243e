import type { IncidentKind } from '@prepaint/contract/notifications/kinds.ts'
import { infiniteQueryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { isLong } from '../live/changes.ts'
import { pollWhileLost } from '../live/stream.ts'
import { notifyFailed } from '../parts/notifications.tsx'
import { fieldQuery, wholeQuery } from './queries.ts'
import { request } from './request.ts'
import type { Channels, Delivery, Endpoint, Incident, Report } from './types.ts'

/** The incidents of the account, or of one domain, open ones first. The event `incident` makes them stale. */
export const incidentsQuery = (domain: string | null = null) => {
  const query = domain === null ? '' : `?domain=${encodeURIComponent(domain)}`
  return fieldQuery<Incident[]>(['incidents', domain], `/api/incidents${query}`, 'incidents')
}

/** What the list of incidents is limited to; null: any. It stands in the address. */
export type IncidentFilter = {
  state: Incident['state'] | null
  domain: string | null
  kind: IncidentKind | null
}

/** Reads 100 incidents at a time. A long list is read again only on request. */
export const incidentListQuery = (filter: IncidentFilter) =>
  infiniteQueryOptions({
    queryKey: ['incidents', 'list', filter],
    queryFn: ({ signal, pageParam }) =>
      request<{ incidents: Incident[]; next: number | null }>('GET', incidentsUrl(filter, pageParam), {
        signal,
      }),
    initialPageParam: null as number | null,
    getNextPageParam: (last) => last.next,
    refetchOnWindowFocus: (query) => !isLong(query),
    refetchInterval: (query) => (isLong(query) ? false : pollWhileLost()),
  })

function incidentsUrl({ state, domain, kind }: IncidentFilter, after: number | null): string {
  const query = new URLSearchParams()
  if (state !== null) query.set('state', state)
  if (domain !== null) query.set('domain', domain)
  if (kind !== null) query.set('kind', kind)
  if (after !== null) query.set('after', `${after}`)
  return query.size === 0 ? '/api/incidents' : `/api/incidents?${query}`
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
