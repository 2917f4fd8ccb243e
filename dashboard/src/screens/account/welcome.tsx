import { Anchor, Button, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import { ApiError } from '../../api/api-error.ts'
import { request } from '../../api/request.ts'
import { switchAccount, useLinkToken } from '../../api/session.ts'
import type { Me, SignInLink } from '../../api/types.ts'
import { Form } from '../../parts/form.tsx'
import { Note } from '../../parts/page.tsx'
import { Loaded, Refusal } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { ROUTES } from '../../route-map.ts'
import { SignedOutFrame } from '../../shell/frame.tsx'
import { EmailField, emailProblem, NewPassword, newPasswordRules } from './credentials.tsx'

const TEXTS: Record<SignInLink['kind'], { title: string; lead: string; button: string }> = {
  first: {
    title: 'Welcome to Prepaint',
    lead: 'There is no account yet. Create the first one: it is the operator of this installation.',
    button: 'Create the account',
  },
  invitation: {
    title: 'Welcome to Prepaint',
    lead: 'You are invited. Choose a password to create your account.',
    button: 'Create my account',
  },
  reset: {
    title: 'Set a new password',
    lead: 'This signs you out in all other browsers.',
    button: 'Set the password',
  },
}

/** The target of one-time links: the first account, an invitation, or a password reset. */
export default function Welcome() {
  const token = useLinkToken()
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
      <BrokenLink why="The link is incomplete: the part after # is missing. Open the whole link again." />
    )
  }
  if (link.data !== undefined) return <UseLink token={token} link={link.data} />
  if (link.error instanceof ApiError && link.error.status === 404) {
    return (
      <BrokenLink why="The link was already used, has expired or is wrong. Ask the sender for a new one." />
    )
  }
  return (
    <SignedOutFrame title="Welcome to Prepaint">
      <Loaded query={link} rows={3}>
        {() => null}
      </Loaded>
    </SignedOutFrame>
  )
}

function BrokenLink({ why }: { why: string }) {
  return (
    <SignedOutFrame title="This link does not work" lead={why}>
      <Anchor component={Link} href={ROUTES.signIn}>
        Go to sign-in
      </Anchor>
    </SignedOutFrame>
  )
}

function UseLink({ token, link }: { token: string; link: SignInLink }) {
  const texts = TEXTS[link.kind]
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const form = useForm({
    initialValues: { email: link.email ?? '', password: '', repeated: '' },
    validate: { email: emailProblem, ...newPasswordRules },
  })
  const use = useMutation({
    mutationFn: ({ email, password }: typeof form.values) => {
      // The address of an invited account is part of the link.
      const body = link.email === null ? { token, password, email: email.trim() } : { token, password }
      return request<{ account: Me }>('POST', '/api/links/use', { body })
    },
    onSuccess: ({ account }) => {
      switchAccount(queries, account)
      navigate(ROUTES.domains, { replace: true })
    },
  })
  return (
    <SignedOutFrame title={texts.title} lead={texts.lead}>
      <Form sent={use} onSubmit={form.onSubmit((values) => use.mutate(values))}>
        <Stack>
          <EmailField
            description="You sign in with this address"
            isReadOnly={link.email !== null}
            input={form.getInputProps('email')}
          />
          <NewPassword form={form} />
          <Refusal error={use.error} />
          <Button type="submit" loading={use.isPending}>
            {texts.button}
          </Button>
          <Note>
            The link works once and expires <TimeText at={link.expires_at} />.
          </Note>
        </Stack>
      </Form>
    </SignedOutFrame>
  )
}
