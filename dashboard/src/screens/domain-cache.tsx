import { Stack } from '@mantine/core'

import type { DomainWithSettings } from '../api-types.ts'
import { WarmCard } from '../parts/warm-card.tsx'
import { CachePages } from './domain-cache-pages.tsx'
import { DomainTokens } from './domain-tokens.tsx'

/** What is stored of a domain, and what changes it: by hand, in bulk, and by webhook. */
export function DomainCache({ domain }: { domain: DomainWithSettings }) {
  return (
    <Stack gap="lg">
      <WarmCard domain={domain} />
      <CachePages domain={domain} />
      <DomainTokens domain={domain} />
    </Stack>
  )
}
