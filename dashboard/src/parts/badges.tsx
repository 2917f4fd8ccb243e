import { Badge } from '@mantine/core'

import type { ListedPage } from '../api/types.ts'

/** The outcome of a render, in the word that the API uses. */
export function OutcomeBadge({ outcome }: { outcome: string }) {
  const isGood = ['rendered', 'redirect', 'probed'].includes(outcome)
  return <Badge color={isGood ? 'paint' : 'yellow'}>{outcome}</Badge>
}

/** Whether crawlers get rendered pages, and whether the domain has a certificate. */
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

/** What happens when a crawler requests a page now. */
export const FRESHNESS: Record<ListedPage['freshness'], string> = {
  fresh: 'Served from the cache.',
  stale: 'Served from the cache, and rendered again on the next crawler visit.',
  kept: 'Served only if the origin or the render fails.',
  gone: 'No longer served; deleted within the hour.',
}
