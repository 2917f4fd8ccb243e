import { Anchor, Button, PasswordInput, Stack } from '@mantine/core'
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

const PasskeySignIn = lazy(() => import('./passkey-sign-in.tsx'))
const SsoSignIn = lazy(() => import('./sso-sign-in.tsx'))
const SsoFailed = lazy(async () => ({ default: (await import('./sso-sign-in.tsx')).SsoFailed }))
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
  if (session.data !== null && session.data !== undefined) {
    if (!search.includes('error=')) return <Redirect to={next} replace />
    return (
      <Suspense fallback={null}>
        <SsoFailed search={search} name={sso?.name} next={next} />
      </Suspense>
    )
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
      {sso !== null && (
        <Suspense fallback={null}>
          <SsoSignIn sso={sso} next={next} search={signIn.isIdle ? search : ''} />
        </Suspense>
      )}
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
