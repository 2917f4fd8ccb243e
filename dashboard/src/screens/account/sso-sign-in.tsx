import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import type { Installation } from '../../api/types.ts'
import { Refusal } from '../../parts/states.tsx'
import { SignedOutFrame } from '../../shell/frame.tsx'
import { SsoButton, ssoFailure } from './sso-button.tsx'

/** Sign-in by the provider, and why the last one failed. Loaded only where there is a provider. */
export default function SsoSignIn(props: {
  sso: NonNullable<Installation['single_sign_on']>
  next: string
  search: string
}) {
  const { sso, next, search } = props
  return (
    <>
      <Refusal error={ssoFailure(search, sso.name)} />
      <SsoButton name={sso.name} next={next} hasOthers={!sso.is_only} />
    </>
  )
}

/** Mostly in the window in which a person should have confirmed who it is. */
export function SsoFailed(props: { search: string; name: string | undefined; next: string }) {
  const { search, name, next } = props
  return (
    <SignedOutFrame title="That did not work">
      <Refusal error={ssoFailure(search, name)} />
      <Text size="sm">
        You are still signed in. If another window waits for you, close this one and try again there.
      </Text>
      <Anchor component={Link} href={next} size="sm">
        Go to your domains
      </Anchor>
    </SignedOutFrame>
  )
}
