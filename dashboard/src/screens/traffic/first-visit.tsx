import { Stack, Text } from '@mantine/core'

import { CopyField } from '../../parts/copy-field.tsx'

/** How to be the first crawler, also where the name does not lead here yet. */
export function FirstVisit({ domain }: { domain: string }) {
  const edge = location.hostname
  return (
    <Stack gap="sm" maw={720} mx="auto">
      <CopyField
        label="Visit as a crawler"
        value={`curl -sI -A Googlebot --connect-to ${domain}:80:${edge}:80 http://${domain}/`}
      />
      <Text size="sm" className="quiet">
        The answer says in X-Prepaint how it came about: rendered at first, and hit the second time. Where the
        edge listens on another port than 80, put that one behind {edge}.
      </Text>
    </Stack>
  )
}
