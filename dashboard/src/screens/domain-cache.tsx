import { Stack } from '@mantine/core'

import type { DomainWithSettings } from '../api-types.ts'
import { CachePages } from './domain-cache-pages.tsx'
import { DomainTokens } from './domain-tokens.tsx'

/** What is stored of a domain, and what changes it: by hand, in bulk, and by webhook. */
export function DomainCache({ domain }: { domain: DomainWithSettings }) {
  return (
    <Stack gap="lg">
      <CachePages domain={domain} />
      <DomainTokens domain={domain} />
    </Stack>
  )
}
