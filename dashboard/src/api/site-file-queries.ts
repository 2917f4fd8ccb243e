import { keepPreviousData, queryOptions, useQueryClient } from '@tanstack/react-query'
import { domainUrl } from './queries.ts'
import { request, requestWithTag } from './request.ts'
import type {
  IndexNow,
  Redirect,
  Robots,
  RobotsPreview,
  RobotsVerdict,
  Settings,
  Version,
  VersionWithContent,
} from './types.ts'

export const robotsQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'robots'],
    queryFn: ({ signal }) => request<Robots>('GET', `${domainUrl(domain)}/robots`, { signal }),
  })

/** Asked while one types: kept only while it is shown. */
const WHILE_TYPING = { placeholderData: keepPreviousData, gcTime: 0, refetchInterval: false } as const

export const robotsPreviewQuery = (domain: string, robots: Settings['robots']) =>
  queryOptions({
    queryKey: ['domains', domain, 'robots', 'preview', robots],
    queryFn: ({ signal }) =>
      request<RobotsPreview>('POST', `${domainUrl(domain)}/robots/preview`, { body: robots, signal }),
    ...WHILE_TYPING,
  })

export const robotsTestQuery = (domain: string, test: { path: string; crawler: string; text: string }) =>
  queryOptions({
    queryKey: ['domains', domain, 'robots', 'test', test],
    queryFn: ({ signal }) =>
      request<RobotsVerdict>('POST', `${domainUrl(domain)}/robots/test`, { body: test, signal }),
    ...WHILE_TYPING,
  })

export type RedirectList = { redirects: Redirect[]; etag: string }

export const redirectsUrl = (domain: string) => `${domainUrl(domain)}/redirects`

export const redirectsQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'redirects'],
    queryFn: async ({ signal }): Promise<RedirectList> => {
      const { answer, etag } = await requestWithTag<{ redirects: Redirect[] }>('GET', redirectsUrl(domain), {
        signal,
      })
      return { redirects: answer.redirects, etag }
    },
  })

export const indexNowQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'indexnow'],
    queryFn: ({ signal }) => request<IndexNow>('GET', `${domainUrl(domain)}/indexnow`, { signal }),
  })

export const versionsQuery = (domain: string, kind: Version['kind']) =>
  queryOptions({
    queryKey: ['domains', domain, 'versions', kind],
    queryFn: async ({ signal }) =>
      (
        await request<{ versions: Version[] }>('GET', `${domainUrl(domain)}/versions?kind=${kind}`, {
          signal,
        })
      ).versions,
  })

export const versionQuery = (domain: string, id: number) =>
  queryOptions({
    queryKey: ['domains', domain, 'versions', id],
    queryFn: ({ signal }) =>
      request<VersionWithContent>('GET', `${domainUrl(domain)}/versions/${id}`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  })

/** Saves some settings of a domain, and reads again what is shown of it. */
export function useSaveSettings(domain: string): (settings: Partial<Settings>) => Promise<void> {
  const queries = useQueryClient()
  return async (settings) => {
    await request('PUT', domainUrl(domain), { body: { settings } })
    await queries.invalidateQueries({ queryKey: ['domains', domain] })
  }
}
