import { Badge } from '@mantine/core'

/** How a render ended, in the word that the interface has for it. */
export function OutcomeBadge({ outcome }: { outcome: string }) {
  const isGood = outcome === 'rendered' || outcome === 'redirect' || outcome === 'probed'
  return (
    <Badge variant="light" color={isGood ? 'paint' : 'yellow'} tt="none">
      {outcome}
    </Badge>
  )
}
