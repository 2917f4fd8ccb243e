import { infiniteQueryOptions } from '@tanstack/react-query'
import { request } from './request.ts'
import type { AuditList } from './types.ts'

/** What is recorded, in groups that the API filters by. */
export const ACTION_TITLES: Readonly<Record<string, string>> = {
  'domain.*': 'Domains and settings',
  'rules.*': 'Rules',
  'redirects.*': 'Redirects',
  'robots.*': 'robots.txt',
  'certificate.*': 'Certificates',
  'cache.*': 'Purges',
  'member.*': 'Members',
  'key.*': 'API keys',
  'token.*': 'Webhook tokens',
  'site_token.*': 'Site tokens',
  'share_link.*': 'Share links',
  'sign_in.*': 'Sign-ins',
  'session.*': 'Sessions',
  'person.*': 'Logins of members',
  'account.*': 'The account',
  'endpoint.*': 'Event endpoints',
  'incident.*': 'Incidents',
  'notifications.*': 'Notifications',
  'audit.*': 'Exports of this log',
}

/** Empty: not asked for. Days are those of the viewer. */
export type AuditFilter = { action: string; actor: string; domain: string; from: string; to: string }

export function auditUrl(
  { action, actor, domain, from, to }: AuditFilter,
  more: Record<string, string>,
): string {
  const query = new URLSearchParams(more)
  if (action !== '') query.set('action', action)
  if (actor.trim() !== '') query.set('actor', actor.trim())
  if (domain.trim() !== '') query.set('domain', domain.trim().toLowerCase())
  if (from !== '') query.set('from', startOf(from, 0))
  if (to !== '') query.set('to', startOf(to, 1))
  return `/api/audit?${query}`
}

function startOf(day: string, later: number): string {
  const start = new Date(`${day}T00:00:00`)
  start.setDate(start.getDate() + later)
  return start.toISOString()
}

export const auditQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['audit', filter],
    queryFn: ({ signal, pageParam }) => {
      const after: Record<string, string> = pageParam === null ? {} : { after: String(pageParam) }
      return request<AuditList>('GET', auditUrl(filter, after), { signal })
    },
    initialPageParam: null as number | null,
    getNextPageParam: (last) => last.next,
    placeholderData: (before) => before,
  })
