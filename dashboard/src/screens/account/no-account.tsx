import { Anchor, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import { CopyField } from '../../parts/copy-field.tsx'
import { ROUTES } from '../../route-map.ts'
import { SignedOutFrame } from '../../shell/frame.tsx'

/** What a new installation shows first. The link itself is a secret of the operator. */
export default function NoAccount() {
  return (
    <SignedOutFrame title="No account yet">
      <Stack gap="md">
        <Text size="sm">Prepaint printed a link when it started: open it to create the first one.</Text>
        <CopyField label="Show it again, in a container" value="docker logs prepaint" />
        <CopyField label="Show it again, as a service" value="journalctl -u prepaint" />
        <CopyField label="Make a new link, on the server" value="npx --no prepaint account first-link" />
        <Text size="sm">
          Have you created it meanwhile?{' '}
          <Anchor component={Link} href={ROUTES.signIn} underline="always">
            Sign in
          </Anchor>
        </Text>
      </Stack>
    </SignedOutFrame>
  )
}
