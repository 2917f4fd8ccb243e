import { infiniteQueryOptions, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query'
import { isLong } from '../live/changes.ts'
import { pollWhileLost } from '../live/state.ts'
import { ApiError, request } from './request.ts'
import type {
  AccountInList,
  ApiKey,
  Certificate,
  Dns,
  Domain,
  DomainWithSettings,
  Fleet,
  FleetFailures,
  FleetQueue,
  Inspection,
  Lens,
  Me,
  PageList,
  PageOrder,
  Render,
  Session,
  Warm,
  WebhookToken,
} from './types.ts'

/** Everything that screens read, by name. What is refused is not asked again; what got no answer is, twice. */
export function createQueries(): QueryClient {
  const client: QueryClient = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        refetchInterval: pollWhileLost,
        retry: (failures, error) =>
          failures < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500),
      },
    },
    queryCache: new QueryCache({
      onError: (error, query) => {
        // The session has ended, perhaps elsewhere: whoever shows a screen asks to sign in.
        if (error instanceof ApiError && error.status === 401 && query.queryKey[0] !== 'session') {
          client.setQueryData(sessionQuery.queryKey, null)
        }
      },
    }),
  })
  return client
}

/** Somebody has signed in or out: nothing that was read for another account stays. */
export function startAnew(queries: QueryClient, me: Me | null): void {
  queries.clear()
  queries.setQueryData(sessionQuery.queryKey, me)
}

/** Who is signed in; null: nobody. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }): Promise<Me | null> => {
    try {
      return (await request<{ account: Me }>('GET', '/api/session', { signal })).account
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null
      throw error
    }
  },
  staleTime: 60_000,
})

export const domainsQuery = queryOptions({
  queryKey: ['domains'],
  queryFn: async ({ signal }) =>
    (await request<{ domains: Domain[] }>('GET', '/api/domains', { signal })).domains,
})

/** The address of one domain in the interface. */
export const domainUrl = (domain: string) => `/api/domains/${encodeURIComponent(domain)}`

export const domainQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain],
    queryFn: async ({ signal }) =>
      (await request<{ domain: DomainWithSettings }>('GET', domainUrl(domain), { signal })).domain,
  })

export const certificateQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'certificate'],
    queryFn: ({ signal }) => request<Certificate>('GET', `${domainUrl(domain)}/certificate`, { signal }),
  })

/** One page under the lens; a render of the domain makes it out of date. */
export const lensQuery = (domain: string, path: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'renders', 'lens', path],
    queryFn: ({ signal }) =>
      request<Lens>('GET', `${domainUrl(domain)}/pages/lens?${new URLSearchParams({ path })}`, { signal }),
    // While somebody looks for us.
    refetchInterval: ({ state }) => (isUnderWay(state.data?.inspection ?? null) ? 1_500 : false),
  })

export function isUnderWay(inspection: Inspection | null): boolean {
  return inspection?.state === 'queued' || inspection?.state === 'running'
}

/** The HTML of a stored page, as text: it is never anything else in this document. */
export const sourceQuery = (domain: string, path: string, etag: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'source', path, etag],
    queryFn: async ({ signal }) => {
      const response = await fetch(sourceUrl(domain, path), { signal })
      const text = await response.text()
      if (!response.ok) throw new ApiError(response.status, 'The page is no longer stored.')
      return text
    },
    staleTime: Number.POSITIVE_INFINITY,
  })

export const sourceUrl = (domain: string, path: string) =>
  `${domainUrl(domain)}/pages/source?${new URLSearchParams({ path })}`

/** How many pages are stored. */
export const pageCountQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'page-count'],
    queryFn: async ({ signal }) =>
      (await request<PageList>('GET', `${domainUrl(domain)}/pages?limit=1`, { signal })).matching ?? 0,
  })

export type PagesWanted = {
  search: string
  match: 'contains' | 'prefix'
  by: PageOrder
  isDescending: boolean
}

/** The list of stored pages, in pieces of 200. Events say when it is out of date; a long one is read anew when somebody wants it. */
export const pagesQuery = (domain: string, wanted: PagesWanted) =>
  infiniteQueryOptions({
    queryKey: ['domains', domain, 'pages', wanted],
    queryFn: ({ signal, pageParam }) => {
      const query = new URLSearchParams({
        ...(wanted.search !== '' && { search: wanted.search, match: wanted.match }),
        order: wanted.by,
        direction: wanted.isDescending ? 'desc' : 'asc',
        limit: '200',
        ...(pageParam !== null && { after: pageParam }),
      })
      return request<PageList>('GET', `${domainUrl(domain)}/pages?${query}`, { signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: (query) => (isLong(query) ? false : 'always'),
    refetchOnWindowFocus: (query) => !isLong(query),
    refetchOnReconnect: (query) => !isLong(query),
    refetchInterval: (query) => (isLong(query) ? false : pollWhileLost()),
  })

export const rendersQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'renders'],
    queryFn: async ({ signal }) =>
      (await request<{ renders: Render[] }>('GET', `${domainUrl(domain)}/renders`, { signal })).renders,
  })

/** The last warm; null: there never was one. Events tell of its progress; while they do not come, it is asked for. */
export const warmQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'warm'],
    queryFn: async ({ signal }) =>
      (await request<{ warm: Warm | null }>('GET', `${domainUrl(domain)}/warm`, { signal })).warm,
    refetchInterval: ({ state }) => {
      const isMoving = state.data != null && state.data.ended_at === null && state.data.paused_at === null
      return isMoving && pollWhileLost() !== false ? 2_000 : pollWhileLost()
    },
  })

export const tokensQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'tokens'],
    queryFn: async ({ signal }) =>
      (await request<{ tokens: WebhookToken[] }>('GET', `${domainUrl(domain)}/tokens`, { signal })).tokens,
  })

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: async ({ signal }) => (await request<{ keys: ApiKey[] }>('GET', '/api/keys', { signal })).keys,
})

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: async ({ signal }) =>
    (await request<{ sessions: Session[] }>('GET', '/api/sessions', { signal })).sessions,
})

/** No event tells that somebody has joined. */
export const accountsQuery = queryOptions({
  queryKey: ['accounts'],
  queryFn: ({ signal }) =>
    request<{ accounts: AccountInList[]; plans: string[] }>('GET', '/api/operator/accounts', { signal }),
  refetchInterval: 15_000,
})

/** Where the name leads; asked again while it does not lead here. */
export const dnsQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'dns'],
    queryFn: ({ signal }) => request<Dns>('GET', `${domainUrl(domain)}/dns`, { signal }),
    staleTime: 30_000,
    retry: false,
    refetchInterval: ({ state }) => (state.data?.state === 'reaches-us' ? 300_000 : 20_000),
  })

/** Whether a new password can be asked for by mail. */
export const passwordResetQuery = queryOptions({
  queryKey: ['password-reset'],
  queryFn: ({ signal }) => request<{ by_mail: boolean }>('GET', '/api/password-reset', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
})

export const fleetQuery = queryOptions({
  queryKey: ['operator', 'nodes'],
  queryFn: ({ signal }) => request<Fleet>('GET', '/api/operator/nodes', { signal }),
  refetchInterval: 5_000,
})

export const fleetQueueQuery = queryOptions({
  queryKey: ['operator', 'queue'],
  queryFn: ({ signal }) => request<FleetQueue>('GET', '/api/operator/queue', { signal }),
  refetchInterval: 5_000,
})

export const fleetFailuresQuery = queryOptions({
  queryKey: ['operator', 'failures'],
  queryFn: ({ signal }) => request<FleetFailures>('GET', '/api/operator/failures', { signal }),
  refetchInterval: 30_000,
})
