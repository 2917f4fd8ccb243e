import { queryOptions } from '@tanstack/react-query'
import { domainUrl, fieldQuery, ofDomainQuery } from './queries.ts'
import { requestWithTag } from './request.ts'
import type { IndexNow, Redirect, Robots, Version, VersionWithContent } from './types.ts'

export const robotsQuery = (domain: string) => ofDomainQuery<Robots>(domain, 'robots')

export const redirectsUrl = (domain: string) => `${domainUrl(domain)}/redirects`

export const redirectsQuery = (domain: string) =>
  queryOptions({
    queryKey: ['domains', domain, 'redirects'],
    queryFn: ({ signal }) =>
      requestWithTag<{ redirects: Redirect[] }>('GET', redirectsUrl(domain), { signal }),
  })

export const indexNowQuery = (domain: string) => ofDomainQuery<IndexNow>(domain, 'indexnow')

export const versionsQuery = (domain: string, kind: Version['kind']) =>
  fieldQuery<Version[]>(
    ['domains', domain, 'versions', kind],
    `${domainUrl(domain)}/versions?kind=${kind}`,
    'versions',
  )

export const versionQuery = (domain: string, id: number) => ({
  ...ofDomainQuery<VersionWithContent>(domain, `versions/${id}`),
  staleTime: Number.POSITIVE_INFINITY,
})
