import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { startAnew } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { Me, SignInLink } from '../../api/types.ts'
import { Loading, Refusal, Trouble } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { ROUTES } from '../../route-map.ts'
import { Door } from '../../shell/frame.tsx'
import { NewPassword, passwordProblem } from './new-password.tsx'

const WORDS: Record<SignInLink['kind'], { title: string; lead: string; button: string }> = {
  first: {
    title: 'Welcome to Prepaint',
    lead: 'Nobody can sign in here yet. Make the account of the operator: yours.',
    button: 'Make the account',
  },
  invitation: {
    title: 'Welcome to Prepaint',
    lead: 'You have been invited. Choose a password, and your account is ready.',
    button: 'Make my account',
  },
  reset: {
    title: 'Set a new password',
    lead: 'You will be signed out everywhere else.',
    button: 'Set the password',
  },
}

/** Where links lead: the first account, an invitation, or a new password. */
export function Welcome() {
  // Kept here only: out of the address bar, the history and whatever copies them.
  const [token] = useState(() => location.hash.slice(1))
  useEffect(() => {
    if (location.hash !== '') history.replaceState(history.state, '', location.pathname)
  }, [])
  const link = useQuery({
    queryKey: ['link', token],
    queryFn: async () =>
      (await request<{ link: SignInLink }>('POST', '/api/links/read', { body: { token } })).link,
    enabled: token !== '',
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })

  if (token === '') {
    return (
      <LinkGone why="This address is only half of a link: what stands behind # is missing. Open the whole link again." />
    )
  }
  if (link.data !== undefined) return <UseLink token={token} link={link.data} />
  if (link.error !== null && 'status' in link.error && link.error.status === 404) {
    return (
      <LinkGone why="This link was used, has ended, or never was one. Ask whoever sent it for a new one." />
    )
  }
  return (
    <Door title="Welcome to Prepaint">
      {link.error === null ? (
        <Loading rows={3} />
      ) : (
        <Trouble error={link.error} onRetry={() => link.refetch()} />
      )}
    </Door>
  )
}

function LinkGone({ why }: { why: string }) {
  return (
    <Door title="This link does not work" lead={why}>
      <Anchor component={Link} href={ROUTES.signIn}>
        Go to sign in
      </Anchor>
    </Door>
  )
}

function UseLink({ token, link }: { token: string; link: SignInLink }) {
  const words = WORDS[link.kind]
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const form = useForm({
    initialValues: { email: link.email ?? '', password: '', repeated: '' },
    validate: {
      email: (email) => (/^\S+@\S+$/.test(email.trim()) ? null : 'Enter an e-mail address'),
      password: passwordProblem,
      repeated: (repeated, { password }) => (repeated === password ? null : 'The two are not the same'),
    },
  })
  const use = useMutation({
    mutationFn: ({ email, password }: typeof form.values) =>
      request<{ account: Me }>('POST', '/api/links/use', {
        body: { token, password, ...(link.email === null && { email: email.trim() }) },
      }),
    onSuccess: ({ account }) => {
      startAnew(queries, account)
      navigate(ROUTES.domains, { replace: true })
    },
  })
  return (
    <Door title={words.title} lead={words.lead}>
      <form noValidate onSubmit={form.onSubmit((values) => use.mutate(values))}>
        <Stack>
          <TextInput
            label="E-mail"
            description="You sign in with it"
            type="email"
            autoComplete="username"
            readOnly={link.email !== null}
            required
            {...form.getInputProps('email')}
          />
          <NewPassword
            password={form.getInputProps('password')}
            repeated={form.getInputProps('repeated')}
            value={form.values.password}
          />
          <Refusal error={use.error} />
          <Button type="submit" loading={use.isPending}>
            {words.button}
          </Button>
          <Text size="xs" className="quiet">
            The link works once; it ends <TimeText at={link.expires_at} />.
          </Text>
        </Stack>
      </form>
    </Door>
  )
}
