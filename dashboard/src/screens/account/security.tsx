import { Page } from '../../parts/page.tsx'
import { OwnAddress } from './own-address.tsx'
import { OwnFactors } from './own-factors.tsx'
import { OwnPasskeys } from './own-passkeys.tsx'
import { ChangePassword } from './own-password.tsx'
import { Sessions } from './own-sessions.tsx'

/** How a person signs in, and where it is signed in. */
export default function Security() {
  return (
    <Page title="Security" lead="How you sign in. It is the same in all your accounts.">
      <OwnFactors />
      <OwnPasskeys />
      <ChangePassword />
      <OwnAddress />
      <Sessions />
    </Page>
  )
}
