import { Anchor, Button, PasswordInput, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Redirect, useLocation, useSearch } from 'wouter'

import { isDatabaseAway } from '../../api/database-state.ts'
import { request } from '../../api/request.ts'
import { sessionQuery, switchAccount } from '../../api/session.ts'
import type { Me } from '../../api/types.ts'
import { Form } from '../../parts/form.tsx'
import { Refusal } from '../../parts/states.tsx'
import { nextPath, ROUTES } from '../../route-map.ts'
import { SignedOutFrame } from '../../shell/frame.tsx'
import { EmailField, emailProblem } from './credentials.tsx'

export default function SignIn() {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const next = nextPath(useSearch())
  const session = useQuery(sessionQuery)
  const form = useForm({
    initialValues: { email: '', password: '' },
    validate: {
      email: emailProblem,
      password: (password) => (password === '' ? 'Enter your password' : null),
    },
  })
  const signIn = useMutation({
    mutationFn: ({ email, password }: typeof form.values) =>
      request<{ account: Me }>('POST', '/api/session', { body: { email: email.trim(), password } }),
    onSuccess: ({ account }) => {
      switchAccount(queries, account)
      navigate(next, { replace: true })
    },
    onError: (error) => {
      // The password was not judged, so it stays for the next attempt.
      if (isDatabaseAway(error)) return
      form.setFieldValue('password', '')
      form.getInputNode('password')?.focus()
    },
  })

  if (session.data !== null && session.data !== undefined) return <Redirect to={next} replace />
  return (
    <SignedOutFrame title="Sign in">
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
        </Stack>
      </Form>
    </SignedOutFrame>
  )
}
