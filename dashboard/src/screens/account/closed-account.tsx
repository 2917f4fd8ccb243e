import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { useSession } from '../../api/session.ts'
import { Page } from '../../parts/page.tsx'
import { ROUTES } from '../../route-map.ts'

/** For a person who can enter no account, or not the one of this tab. */
export default function ClosedAccount() {
  const { set_up: setUp } = useSession()
  if (setUp !== undefined) {
    return (
      <Page title="A second factor is required">
        <Text>
          This account can be entered only with a second factor.{' '}
          <Anchor component={Link} href={ROUTES.security} underline="always">
            Set one up
          </Anchor>
        </Text>
      </Page>
    )
  }
  return (
    <Page title="You are in no account">
      <Text>
        Ask an owner of an account to invite you, or the operator of this installation for an account of your
        own.
      </Text>
    </Page>
  )
}
