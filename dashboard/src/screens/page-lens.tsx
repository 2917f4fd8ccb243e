import { Anchor, Stack, Text } from '@mantine/core'
import { Link, useSearchParams } from 'wouter'

import type { DomainWithSettings } from '../api-types.ts'
import { Section } from '../parts/page.tsx'
import { domainPath } from '../route-map.ts'

/** One page under the lens. */
export function PageLens({ domain }: { domain: DomainWithSettings }) {
  const [query] = useSearchParams()
  const path = query.get('path') ?? '/'
  return (
    <Stack gap="lg">
      <Anchor component={Link} href={domainPath('domainCache', domain.custom_domain)} size="sm">
        All pages
      </Anchor>
      <Section title={path}>
        <Text size="sm">{domain.custom_domain}</Text>
      </Section>
    </Stack>
  )
}
