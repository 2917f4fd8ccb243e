import type { DomainProof } from '@prepaint/contract/api/proof.ts'
import type { Form } from '@prepaint/contract/outcome/form.ts'
import { infiniteQueryOptions, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query'
import { forgetUses } from '../find/recent.ts'
import { isLong } from '../live/changes.ts'
import { pollWhileLost } from '../live/stream.ts'
import { ApiError } from './api-error.ts'
import { isDatabaseAway } from './database-state.ts'
import { request } from './request.ts'
import { sessionQuery } from './session.ts'
import type {
  AccountInList,
  ApiKey,
  Certificate,
  CompletePages,
  Devices,
  Dns,
  Domain,
  DomainWithSettings,
  Egress,
  EnteredAccount,
  Fleet,
  FleetFailures,
  FleetQueue,
  Inspection,
  Installation,
  Integration,
  IntegrationSummary,
  Invitation,
  Member,
  OwnAccount,
  PageInspection,
  PageList,
  PageOrder,
  PageVariant,
  PersonInList,
  Plan,
  Render,
  RuleTry,
  SecondFactor,
  Session,
  Shared,
  ShareLink,
  SiteToken,
  Warm,
  WebhookToken,
} from './types.ts'

/** Makes the cache of all answers. It retries twice without a response or after a server error, but not after a refusal. */
export function newQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        refetchInterval: pollWhileLost,
        retry: mayRetry,
      },
    },
    queryCache: new QueryCache({
      onError: (error, query) => {
        // The session has ended, perhaps in another window. The app redirects to the sign-in screen.
        if (error instanceof ApiError && error.status === 401 && query.queryKey[0] !== 'session') {
          client.setQueryData(sessionQuery.queryKey, null)
          forgetUses()
        }
      },
    }),
  })
  return client
}

function mayRetry(failures: number, error: unknown): boolean {
  // The banner's retries follow.
  if (isDatabaseAway(error)) return false
  return failures < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500)
}

/** The data is one field of the answer. */
export function fieldQuery<Data>(queryKey: readonly (string | number | null)[], path: string, field: string) {
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }) => {
      const answer = await request<Record<string, Data>>('GET', path, { signal })
      return answer[field]!
    },
  })
}

/** The data is the whole answer. */
export function wholeQuery<Data>(queryKey: readonly string[], path: string) {
  return queryOptions({ queryKey, queryFn: ({ signal }) => request<Data>('GET', path, { signal }) })
}

/** Whether there is an account, and how people sign in. */
export const installationQuery = wholeQuery<Installation>(['installation'], '/api/installation')

export const domainsQuery = fieldQuery<Domain[]>(['domains'], '/api/domains', 'domains')

export const domainUrl = (domain: string) => `/api/domains/${encodeURIComponent(domain)}`

/** The key of the data is below the domain, by the parts of `path`. */
export const ofDomainQuery = <Data>(domain: string, path: string) =>
  wholeQuery<Data>(['domains', domain, ...path.split('/')], `${domainUrl(domain)}/${path}`)

export const domainQuery = (domain: string) =>
  fieldQuery<DomainWithSettings>(['domains', domain], domainUrl(domain), 'domain')

export const certificateQuery = (domain: string) => ofDomainQuery<Certificate>(domain, 'certificate')

export const integrationQuery = (domain: string) => ofDomainQuery<Integration>(domain, 'integration')

/** Polled, because a check is no visit. */
export const integrationsQuery = queryOptions({
  ...fieldQuery<IntegrationSummary[]>(['integrations'], '/api/integrations', 'integrations'),
  refetchInterval: 30_000,
})

export const siteTokenQuery = (domain: string) =>
  fieldQuery<SiteToken | null>(
    ['domains', domain, 'site-token'],
    `${domainUrl(domain)}/site-token`,
    'site_token',
  )

export const ownAccountQuery = fieldQuery<OwnAccount>(['own-account'], '/api/account', 'account')

export const shareLinksQuery = fieldQuery<ShareLink[]>(['share-links'], '/api/share-links', 'share_links')

export const sharedQuery = fieldQuery<Shared>(['shared'], '/api/shared', 'share')

/** The pages that crawlers asked for last. */
export const sharedPagesQuery = (domain: string) =>
  wholeQuery<PageList>(
    ['domains', domain, 'pages', 'shared'],
    `${domainUrl(domain)}/pages?order=last_crawler&direction=desc&limit=100&counts=false`,
  )

export const secondFactorQuery = wholeQuery<SecondFactor>(['second-factor'], '/api/second-factor')

export const egressQuery = wholeQuery<Egress>(['egress'], '/api/egress')

export const ruleTryUrl = (domain: string) => `${domainUrl(domain)}/rules/try`

export const ruleTryQuery = (domain: string, id: string) =>
  queryOptions({
    ...wholeQuery<RuleTry>(['domains', domain, 'try', id], `${ruleTryUrl(domain)}/${id}`),
    refetchInterval: ({ state }) => (state.data?.state === 'done' ? false : 1_500),
  })

/** The key of the data is below `renders`, so that a render of the domain invalidates it. */
export const inspectionQuery = (domain: string, path: string, variant: PageVariant = 'desktop') =>
  queryOptions({
    queryKey: ['domains', domain, 'renders', 'inspection', path, variant],
    queryFn: ({ signal }) => request<PageInspection>('GET', detailsUrl(domain, path, variant), { signal }),
    refetchInterval: ({ state }) => (isUnderWay(state.data?.inspection ?? null) ? 1_500 : false),
  })

function detailsUrl(domain: string, path: string, variant: PageVariant): string {
  return `${domainUrl(domain)}/pages/details?${new URLSearchParams({ path, variant })}`
}

export function isUnderWay(inspection: Inspection | null): boolean {
  return inspection?.state === 'queued' || inspection?.state === 'running'
}

/** Polled, because comparisons end without an event. */
export const devicesQuery = (domain: string) =>
  queryOptions({ ...ofDomainQuery<Devices>(domain, 'devices'), refetchInterval: 5_000 })

export type PageAddress = { path: string; variant: PageVariant; form: Form }

export const sourceQuery = (domain: string, address: PageAddress, etag: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'source', address, etag],
    queryFn: async ({ signal }) => {
      const response = await fetch(sourceUrl(domain, address), { signal })
      if (response.ok) return response.text()
      throw new ApiError(response.status, 'The page is not cached in this form. Refresh it.')
    },
    staleTime: Number.POSITIVE_INFINITY,
  })

export const sourceUrl = (domain: string, address: PageAddress) =>
  `${domainUrl(domain)}/pages/source?${new URLSearchParams(address)}`

export const pageCountQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'page-count'],
    queryFn: async ({ signal }) => {
      const url = `${domainUrl(domain)}/pages?limit=1&counts=false`
      const { matching } = await request<PageList>('GET', url, { signal })
      return matching ?? 0
    },
  })

export const PAGE_FILTERS = ['status', 'freshness', 'outcome', 'variant', 'unvisited'] as const

export type PageFilterName = (typeof PAGE_FILTERS)[number]

/** Values with commas between them, as the API takes them. Absent or empty: any. */
export type PageConditions = { search: string; match: 'contains' | 'prefix' } & Partial<
  Record<PageFilterName, string>
>

export type PageFilter = PageConditions & { by: PageOrder; isDescending: boolean }

const PAGES_AT_ONCE = 200

function pagesUrl(domain: string, filter: PageFilter, after: string | null): string {
  const query = new URLSearchParams({
    order: filter.by,
    direction: filter.isDescending ? 'desc' : 'asc',
    limit: `${PAGES_AT_ONCE}`,
    counts: 'false',
  })
  if (after !== null) query.set('after', after)
  return `${domainUrl(domain)}/pages?${withConditions(query, filter)}`
}

export function withConditions(query: URLSearchParams, filter: PageConditions): URLSearchParams {
  const all = new URLSearchParams(query)
  if (filter.search !== '') {
    all.set('search', filter.search)
    all.set('match', filter.match)
  }
  for (const name of PAGE_FILTERS) {
    const value = filter[name] ?? ''
    if (value !== '') all.set(name, value)
  }
  return all
}

/** Reads 200 pages at a time. Events mark the list as stale; a long list is read again only on request. */
export const pagesQuery = (domain: string, filter: PageFilter) =>
  infiniteQueryOptions({
    queryKey: ['domains', domain, 'pages', filter],
    queryFn: ({ signal, pageParam }) =>
      request<PageList>('GET', pagesUrl(domain, filter, pageParam), { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: (query) => (isLong(query) ? false : 'always'),
    refetchOnWindowFocus: (query) => !isLong(query),
    refetchOnReconnect: (query) => !isLong(query),
    refetchInterval: (query) => (isLong(query) ? false : pollWhileLost()),
  })

const rendersAnswer = (domain: string) =>
  ofDomainQuery<{ renders: Render[]; complete: CompletePages }>(domain, 'renders')

export const rendersQuery = (domain: string) => ({
  ...rendersAnswer(domain),
  select: ({ renders }: { renders: Render[] }) => renders,
})

/** What the list of renders is limited to; empty: all. It stands in the address. */
export type RenderListFilter = { outcome: string; path: string; priority: string; hours: string }

const RENDERS_AT_ONCE = 50

/** Reads 50 renders at a time. A long list is read again only on request. */
export const renderListQuery = (domain: string, filter: RenderListFilter) =>
  infiniteQueryOptions({
    queryKey: ['domains', domain, 'renders', 'list', filter],
    queryFn: ({ signal, pageParam }) =>
      request<{ renders: Render[]; next: number | null }>('GET', rendersUrl(domain, filter, pageParam), {
        signal,
      }),
    initialPageParam: null as number | null,
    getNextPageParam: (last) => last.next,
    refetchOnWindowFocus: (query) => !isLong(query),
    refetchInterval: (query) => (isLong(query) ? false : pollWhileLost()),
  })

function rendersUrl(domain: string, filter: RenderListFilter, after: number | null): string {
  const query = new URLSearchParams({ limit: `${RENDERS_AT_ONCE}` })
  const { outcome, path, priority, hours } = filter
  if (outcome !== '') query.set('outcome', outcome)
  if (path !== '') query.set('path', path)
  if (priority !== '') query.set('priority', priority)
  if (hours !== '') query.set('since', new Date(Date.now() - Number(hours) * 3_600_000).toISOString())
  if (after !== null) query.set('after', `${after}`)
  return `${domainUrl(domain)}/renders?${query}`
}

export const completePagesQuery = (domain: string) => ({
  ...rendersAnswer(domain),
  select: ({ complete }: { complete: CompletePages }) => complete,
})

const WARM_POLL_MS = 2_000

/** The data is null before the first warm run. It is polled only without events. */
export const warmQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'warm'],
    queryFn: async ({ signal }) => {
      const { warm } = await request<{ warm: Warm | null }>('GET', `${domainUrl(domain)}/warm`, { signal })
      return warm
    },
    refetchInterval: ({ state: { data } }) => {
      const pollMs = pollWhileLost()
      const isRunning = data != null && data.ended_at === null && data.paused_at === null
      return isRunning && pollMs !== false ? WARM_POLL_MS : pollMs
    },
  })

export const tokensQuery = (domain: string) =>
  fieldQuery<WebhookToken[]>(['domains', domain, 'tokens'], `${domainUrl(domain)}/tokens`, 'tokens')

export const keysQuery = fieldQuery<ApiKey[]>(['keys'], '/api/keys', 'keys')

export const sessionsQuery = fieldQuery<Session[]>(['sessions'], '/api/sessions', 'sessions')

export const planQuery = fieldQuery<Plan>(['plan'], '/api/plan', 'plan')

/** Polled, because there is no event for new accounts. */
export const accountsQuery = queryOptions({
  ...wholeQuery<{ accounts: AccountInList[]; plans: string[] }>(['accounts'], '/api/operator/accounts'),
  refetchInterval: 15_000,
})

/** For operators: everyone who can sign in. */
export const personsQuery = fieldQuery<PersonInList[]>(['persons'], '/api/operator/persons', 'persons')

export const membersQuery = fieldQuery<Member[]>(['members'], '/api/members', 'members')

export const invitationsQuery = fieldQuery<Invitation[]>(['invitations'], '/api/invitations', 'invitations')

/** The accounts that the person is in. */
export const ownAccountsQuery = fieldQuery<EnteredAccount[]>(['own-accounts'], '/api/accounts', 'accounts')

/** Checked often until the domain points here. */
export const dnsQuery = (domain: string) =>
  queryOptions({
    ...ofDomainQuery<Dns>(domain, 'dns'),
    staleTime: 30_000,
    retry: false,
    refetchInterval: ({ state }) => (state.data?.state === 'reaches-us' ? 300_000 : 20_000),
  })

/** While a proof is asked for, the nodes look for it, too. */
export const proofQuery = (domain: string) =>
  queryOptions({
    ...fieldQuery<DomainProof>(['domains', domain, 'proof'], `${domainUrl(domain)}/proof`, 'proof'),
    refetchInterval: ({ state }) => (state.data?.state === 'asked' ? 20_000 : false),
  })

export const passwordResetQuery = queryOptions({
  ...wholeQuery<{ by_mail: boolean }>(['password-reset'], '/api/password-reset'),
  staleTime: Number.POSITIVE_INFINITY,
})

export const fleetQuery = queryOptions({
  ...wholeQuery<Fleet>(['operator', 'nodes'], '/api/operator/nodes'),
  refetchInterval: 5_000,
})

export const fleetQueueQuery = queryOptions({
  ...wholeQuery<FleetQueue>(['operator', 'queue'], '/api/operator/queue'),
  refetchInterval: 5_000,
})

export const fleetFailuresQuery = queryOptions({
  ...wholeQuery<FleetFailures>(['operator', 'failures'], '/api/operator/failures'),
  refetchInterval: 30_000,
})
