import type { IncidentKind } from '@prepaint/contract/notifications/kinds.ts'
import { infiniteQueryOptions } from '@tanstack/react-query'
import { isLong } from '../live/changes.ts'
import { pollWhileLost } from '../live/stream.ts'
import { request } from './request.ts'
import type { Incident } from './types.ts'

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
