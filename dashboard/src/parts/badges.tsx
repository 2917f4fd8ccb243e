import { Badge } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { dnsQuery } from '../api/queries.ts'
import type { Dns, ListedPage } from '../api/types.ts'

const GOOD_OUTCOMES: readonly string[] = ['rendered', 'static', 'redirect', 'probed']

export function OutcomeBadge({ outcome }: { outcome: string }) {
  return <Badge color={GOOD_OUTCOMES.includes(outcome) ? 'paint' : 'yellow'}>{outcome}</Badge>
}

export function DomainBadges({ isActive, hasCertificate }: { isActive: boolean; hasCertificate: boolean }) {
  return (
    <>
      <Badge color={isActive ? 'paint' : 'gray'}>{isActive ? 'Active' : 'Paused'}</Badge>
      <Badge color={hasCertificate ? 'paint' : 'yellow'}>
        {hasCertificate ? 'HTTPS' : 'No certificate yet'}
      </Badge>
    </>
  )
}

export const FRESHNESS: Record<ListedPage['freshness'], string> = {
  fresh: 'Served from the cache.',
  stale: 'Served from the cache, and rendered again on the next crawler visit.',
  kept: 'Served only if the origin or the render fails.',
  gone: 'No longer served; deleted within the hour.',
}

const DNS_STATES: Record<Dns['state'], { color: string; label: string }> = {
  'reaches-us': { color: 'paint', label: 'DNS points here' },
  elsewhere: { color: 'yellow', label: 'DNS points elsewhere' },
  'no-record': { color: 'yellow', label: 'No DNS record' },
  'not-checked': { color: 'gray', label: 'DNS not checked' },
}

const DNS_CHECKING = { color: 'gray', label: 'DNS …' }

export function DnsBadge({ domain }: { domain: string }) {
  const { data, error } = useQuery(dnsQuery(domain))
  const isChecking = data === undefined && error === null
  const { color, label } = isChecking ? DNS_CHECKING : DNS_STATES[data?.state ?? 'not-checked']
  return <Badge color={color}>{label}</Badge>
}
