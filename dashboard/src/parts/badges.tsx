import { Badge } from '@mantine/core'
import type { JobOutcome } from '@prepaint/contract/outcome/job.ts'
import { outcomeWords } from '@prepaint/contract/outcome/words.ts'
import { useQuery } from '@tanstack/react-query'
import { dnsQuery } from '../api/queries.ts'
import type { Dns, IntegrationSummary, ListedPage } from '../api/types.ts'
import { isBehindFront } from '../installation.ts'

const GOOD_OUTCOMES: readonly string[] = ['rendered', 'static', 'redirect', 'probed']

/** Outcomes of renders that stored nothing though they should have. */
export const FAILED_OUTCOMES: readonly string[] = [
  'origin-unreachable',
  'timed-out',
  'origin-error',
  'site-error',
  'blank',
  'error-page',
  'challenge',
  'shrunk',
  'too-large',
  'crashed',
  'redirect-loop',
]

/** Of `outcomeWords`, as short as a column of a table. What is missing here is short there. */
const SHORT_OUTCOMES: { [Outcome in JobOutcome]?: string } = {
  static: 'stored as it came',
  'origin-error': 'server error',
  'site-error': 'page says error',
  'origin-unreachable': 'server unreachable',
  'error-page': 'error with status 200',
  crashed: 'browser crashed',
  aborted: 'stopped',
  shrunk: 'far less text',
  'no-store': 'storing forbidden',
  'soft-404': 'page for missing pages',
  probed: 'looked at',
  tried: 'tried',
  'over-quota': 'renders used up',
  'domain-gone': 'site deleted',
  'domain-inactive': 'site paused',
}

/** What a render ended as, in two or three words. */
export function shortOutcome(outcome: string): string {
  return SHORT_OUTCOMES[outcome as JobOutcome] ?? outcomeWords(outcome)
}

/** Of a list with commas, as filters have it. */
export function eitherOutcome(outcomes: string): string {
  return outcomes.split(',').map(shortOutcome).join(' or ')
}

export function OutcomeBadge({ outcome }: { outcome: string }) {
  return (
    <Badge color={GOOD_OUTCOMES.includes(outcome) ? 'paint' : 'yellow'} title={outcomeWords(outcome)}>
      {shortOutcome(outcome)}
    </Badge>
  )
}

/** What is not as it should be; what is fine has no badge. A front has the certificate of its site. */
export function DomainBadges(props: {
  isActive: boolean
  hasCertificate: boolean
  /** Undefined until it is loaded. */
  integration: IntegrationSummary | undefined
}) {
  const { isActive, hasCertificate, integration } = props
  const isBehind = integration !== undefined && isBehindFront(integration)
  return (
    <>
      {!isActive && <Badge color="gray">Paused</Badge>}
      {isBehind && integration.state === 'not_seen' && <Badge color="yellow">No crawlers</Badge>}
      {integration !== undefined && !isBehind && !hasCertificate && (
        <Badge color="yellow">No certificate yet</Badge>
      )}
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
