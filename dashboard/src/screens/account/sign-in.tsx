import { Anchor, Button, PasswordInput, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { Link, Redirect, useLocation, useSearch } from 'wouter'

import { isDatabaseAway } from '../../api/database-state.ts'
import { installationQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { sessionQuery, switchAccount } from '../../api/session.ts'
import type { SecondFactorAwaited, SignedInView, SignInAnswer } from '../../api/types.ts'
import { Form } from '../../parts/form.tsx'
import { Refusal } from '../../parts/states.tsx'
import { nextPath, ROUTES } from '../../route-map.ts'
import { SignedOutFrame } from '../../shell/frame.tsx'
import { EmailField, emailProblem } from './email-field.tsx'
import { SsoButton, ssoFailure } from './sso-button.tsx'

const PasskeySignIn = lazy(() => import('./passkey-sign-in.tsx'))
const SecondFactorForm = lazy(() => import('./second-factor-form.tsx'))

export default function SignIn() {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const search = useSearch()
  const next = nextPath(search)
  const session = useQuery(sessionQuery)
  const installation = useQuery(installationQuery)
  const form = useForm({
    initialValues: { email: '', password: '' },
    validate: {
      email: emailProblem,
      password: (password) => (password === '' ? 'Enter your password' : null),
    },
  })
  const [step, setStep] = useState<SecondFactorAwaited | null>(null)
  const enter = (session: SignedInView) => {
    switchAccount(queries, session)
    navigate(next, { replace: true })
  }
  const signIn = useMutation({
    mutationFn: ({ email, password }: typeof form.values) =>
      request<SignInAnswer>('POST', '/api/session', { body: { email: email.trim(), password } }),
    onSuccess: (answer) => {
      if ('second_factor' in answer) setStep(answer.second_factor)
      else enter(answer)
    },
    onError: (error) => {
      // The password was not judged, so it stays for the next attempt.
      if (isDatabaseAway(error)) return
      form.setFieldValue('password', '')
      form.getInputNode('password')?.focus()
    },
  })

  // Empty until it is known how people sign in: a form that goes again would only flash.
  if (installation.data === undefined && installation.error === null) return null
  const sso = installation.data?.single_sign_on ?? null
  const failure = ssoFailure(search, sso?.name)
  if (session.data !== null && session.data !== undefined) {
    return failure === null ? <Redirect to={next} replace /> : <StillSignedIn failure={failure} next={next} />
  }
  if (step !== null) {
    return (
      <Suspense fallback={null}>
        <SecondFactorForm step={step} onDone={enter} onAgain={() => setStep(null)} />
      </Suspense>
    )
  }
  return (
    <SignedOutFrame title="Sign in">
      {signIn.isIdle && <Refusal error={failure} />}
      {sso !== null && <SsoButton name={sso.name} next={next} hasOthers={!sso.is_only} />}
      {sso?.is_only !== true && (
        <Form sent={signIn} onSubmit={form.onSubmit((values) => signIn.mutate(values))}>
          <Stack>
            <EmailField hasFocus input={form.getInputProps('email')} />
            <PasswordInput
              label="Password"
              autoComplete="current-password"
              required
              {...form.getInputProps('password')}
            />
            <Refusal error={signIn.error} />
            <Button type="submit" loading={signIn.isPending}>
              Sign in
            </Button>
            <Anchor component={Link} href={ROUTES.forgotten} size="sm">
              Forgot your password?
            </Anchor>
            <Suspense fallback={null}>
              <PasskeySignIn onDone={enter} />
            </Suspense>
          </Stack>
        </Form>
      )}
    </SignedOutFrame>
  )
}

/** Mostly in the window in which a person should have confirmed who it is. */
function StillSignedIn({ failure, next }: { failure: Error; next: string }) {
  return (
    <SignedOutFrame title="That did not work">
      <Refusal error={failure} />
      <Text size="sm">
        You are still signed in. If another window waits for you, close this one and try again there.
      </Text>
      <Anchor component={Link} href={next} size="sm">
        Go to your domains
      </Anchor>
    </SignedOutFrame>
  )
}
