import type { IncidentKind } from '@prepaint/contract/notifications/kinds.ts'
import type { Incident } from '../../api/types.ts'

/** One incident, or several of one kind whose sites have the same server. */
export type IncidentGroup = { key: string; kind: IncidentKind; incidents: readonly Incident[] }

/** Their cause may be the server of the site. */
const OF_SERVERS: readonly IncidentKind[] = [
  'origin_unreachable',
  'renders_failing',
  'blocked',
  'pages_shrinking',
]

/**
 * Puts open incidents of one kind together if their sites have the same server, at the place of the newest. `serverOf` returns
 * null where the server of a domain is unknown.
 */
export function groupsOf(
  incidents: readonly Incident[],
  serverOf: (domain: string) => string | null,
): IncidentGroup[] {
  const groups = new Map<string, IncidentGroup & { incidents: Incident[] }>()
  for (const incident of incidents) {
    const { id, kind, domain, state } = incident
    const server = state === 'open' && OF_SERVERS.includes(kind) ? serverOf(domain) : null
    const key = server === null ? `${id}` : `${kind} ${server}`
    const group = groups.get(key) ?? { key, kind, incidents: [] }
    group.incidents.push(incident)
    groups.set(key, group)
  }
  return [...groups.values()]
}

/** The server that an origin URL names, or null if it is no URL. */
export function serverOfOrigin(originUrl: string | undefined): string | null {
  return originUrl === undefined ? null : (URL.parse(originUrl)?.host ?? null)
}
