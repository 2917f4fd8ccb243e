import { Anchor, Button, PasswordInput, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Redirect, useLocation, useSearch } from 'wouter'
import { sessionQuery, startAnew } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { Me } from '../../api/types.ts'
import { Refusal } from '../../parts/states.tsx'
import { nextPath, ROUTES } from '../../route-map.ts'
import { Door } from '../../shell/frame.tsx'

export function SignIn() {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const next = nextPath(useSearch())
  const session = useQuery(sessionQuery)
  const form = useForm({
    initialValues: { email: '', password: '' },
    validate: {
      email: (email) => (/^\S+@\S+$/.test(email.trim()) ? null : 'Enter the e-mail address of your account'),
      password: (password) => (password === '' ? 'Enter your password' : null),
    },
  })
  const signIn = useMutation({
    mutationFn: ({ email, password }: typeof form.values) =>
      request<{ account: Me }>('POST', '/api/session', { body: { email: email.trim(), password } }),
    onSuccess: ({ account }) => {
      startAnew(queries, account)
      navigate(next, { replace: true })
    },
    onError: () => {
      form.setFieldValue('password', '')
      form.getInputNode('password')?.focus()
    },
  })

  if (session.data !== null && session.data !== undefined) return <Redirect to={next} replace />
  return (
    <Door title="Sign in">
      <form noValidate onSubmit={form.onSubmit((values) => signIn.mutate(values))}>
        <Stack>
          <TextInput
            label="E-mail"
            type="email"
            autoComplete="username"
            autoFocus
            required
            {...form.getInputProps('email')}
          />
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
            Forgotten your password?
          </Anchor>
        </Stack>
      </form>
    </Door>
  )
}
