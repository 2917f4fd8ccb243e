import { Anchor, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { installationQuery } from '../../api/queries.ts'
import { useSession } from '../../api/session.ts'
import { Page } from '../../parts/page.tsx'
import { ROUTES } from '../../route-map.ts'

/** For a person who can enter no account, or not the one of this tab. */
export default function ClosedAccount() {
  const { set_up: setUp } = useSession()
  const sso = useQuery(installationQuery).data?.single_sign_on ?? null
  if (setUp !== undefined) {
    return (
      <Page title="A second factor is required">
        <Text>
          This account can be entered only with a second factor.{' '}
          {sso?.is_only === true ? (
            `Sign in with ${sso.name}.`
          ) : (
            <Anchor component={Link} href={ROUTES.security} underline="always">
              Set one up
            </Anchor>
          )}
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
