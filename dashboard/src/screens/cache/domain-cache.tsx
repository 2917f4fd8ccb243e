import { Stack } from '@mantine/core'

import type { DomainWithSettings } from '../../api/types.ts'
import { CachePages } from './cache.tsx'
import { DomainTokens } from './tokens.tsx'
import { WarmCard } from './warm.tsx'

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
