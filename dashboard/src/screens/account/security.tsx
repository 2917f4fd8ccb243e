import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { installationQuery } from '../../api/queries.ts'
import { useSession } from '../../api/session.ts'
import type { Installation } from '../../api/types.ts'
import { type FactRow, Facts, Page, Section } from '../../parts/page.tsx'
import { Loading } from '../../parts/states.tsx'
import { OwnAddress } from './own-address.tsx'
import { OwnFactors } from './own-factors.tsx'
import { OwnPasskeys } from './own-passkeys.tsx'
import { ChangePassword } from './own-password.tsx'
import { Sessions } from './own-sessions.tsx'

/** How a person signs in, and where it is signed in. */
export default function Security() {
  const installation = useQuery(installationQuery)
  const isKnown = installation.data !== undefined || installation.error !== null
  return (
    <Page title="Security" lead="How you sign in. It is the same in all your accounts.">
      {isKnown ? <Sections sso={installation.data?.single_sign_on ?? null} /> : <Loading rows={6} />}
    </Page>
  )
}

function Sections({ sso }: { sso: Installation['single_sign_on'] }) {
  return (
    <>
      <Profile />
      {sso?.is_only === true ? <OnlySso name={sso.name} /> : <OwnWays />}
      <OwnAddress />
      <Sessions />
    </>
  )
}

function OwnWays() {
  return (
    <>
      <OwnFactors />
      <OwnPasskeys />
      <ChangePassword />
    </>
  )
}

function OnlySso({ name }: { name: string }) {
  return (
    <Section title="Single sign-on" lead={`You sign in with ${name}.`}>
      <Text size="sm">
        This installation has no passwords and passkeys. Change your password or second factor at the
        provider.
      </Text>
    </Section>
  )
}

function Profile() {
  const { account, person } = useSession()
  const facts: FactRow[] = [['Signed in as', person.email]]
  if (person.is_operator) facts.push(['Operator', 'of this installation'])
  if (account !== null) facts.push(['Account', account.name], ['Role', account.role])
  return (
    <Section id="profile" title="Profile">
      <Facts rows={facts} />
    </Section>
  )
}
