import { Anchor, Button, PasswordInput, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { roleWords } from '@prepaint/contract/role-words.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { isRefusal } from '../../api/api-error.ts'
import { keepLinkToken, useLinkToken } from '../../api/link-token.ts'
import { installationQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { sessionQuery, switchAccount } from '../../api/session.ts'
import type {
  Installation,
  SecondFactorAwaited,
  SignedInView,
  SignInAnswer,
  SignInLink,
} from '../../api/types.ts'
import { Form } from '../../parts/form.tsx'
import { Note } from '../../parts/page.tsx'
import { Loaded, Refusal } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { ROUTES } from '../../route-map.ts'
import { SignedOutFrame } from '../../shell/frame.tsx'
import { EmailField, emailProblem } from './email-field.tsx'
import { NewPassword, newPasswordRules } from './new-password.tsx'
import SecondFactorForm from './second-factor-form.tsx'
import { SsoButton } from './sso-button.tsx'

const TEXTS: Record<SignInLink['kind'], { title: string; lead: string; button: string }> = {
  first: {
    title: 'Welcome to Prepaint',
    lead: 'There is no account yet. Create the first one: it is the operator of this installation.',
    button: 'Create the account',
  },
  invitation: {
    title: 'Welcome to Prepaint',
    lead: 'You are invited, with an account of your own. In it you add sites. Choose a password to create it.',
    button: 'Create my account',
  },
  member: {
    title: 'Join an account',
    lead: '',
    button: 'Join the account',
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
  if (isRefusal(link.error, 'link_not_found')) {
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
  const session = useQuery(sessionQuery)
  const installation = useQuery(installationQuery)
  if (session.data === undefined && session.error === null) return null
  if (installation.data === undefined && installation.error === null) return null
  const sso = installation.data?.single_sign_on ?? null
  const isOwn = session.data?.person.email === link.email
  const isInSession =
    link.kind === 'member' || (link.kind === 'invitation' && sso !== null && (sso.is_only || isOwn))
  if (!isInSession) return <SetPassword token={token} link={link} sso={sso} />
  return <Join token={token} link={link} sso={sso} signedInAs={session.data?.person.email ?? null} />
}

/** The link of an invitation. Who has a login needs its password, or is signed in with it. */
function Join(props: {
  token: string
  link: SignInLink
  sso: Installation['single_sign_on']
  signedInAs: string | null
}) {
  const { token, link, sso, signedInAs } = props
  const entering = useEntering()
  const isSignedIn = signedInAs === link.email
  const form = useForm({
    initialValues: { email: link.email ?? '', password: '' },
    validate: { password: (password) => (isSignedIn || password !== '' ? null : 'Enter a password') },
  })
  const join = useMutation({
    mutationFn: ({ password }: typeof form.values) => {
      const body = isSignedIn ? { token } : { token, password }
      return request<SignInAnswer>('POST', '/api/links/use', { body })
    },
    onSuccess: entering.take,
  })
  if (entering.step !== null) return entering.step
  const isOwn = link.kind === 'invitation'
  const title = isOwn ? TEXTS.invitation.title : `Join ${link.account?.name}`
  const lead = isOwn
    ? `You are invited to create an account of your own, as ${link.email}. In it you add sites.`
    : `${link.invited_by} invites you to ${link.account?.name} as ${link.role}. ${meansOf(link)}`
  const label = isOwn ? TEXTS.invitation.button : TEXTS.member.button
  if (signedInAs !== null && !isSignedIn) {
    return (
      <SignedOutFrame title={title} lead={lead}>
        <Text size="sm">
          This invitation is for {link.email}, but you are signed in as {signedInAs}. Sign out first, then
          open the link again.
        </Text>
        <Anchor component={Link} href={ROUTES.domains}>
          Go to your domains
        </Anchor>
      </SignedOutFrame>
    )
  }
  const bySso = sso !== null && !isSignedIn && (
    <SsoButton
      name={sso.name}
      next={ROUTES.welcome}
      hasOthers={!sso.is_only}
      before={() => keepLinkToken(token)}
    />
  )
  if (sso?.is_only === true && !isSignedIn) {
    return (
      <SignedOutFrame title={title} lead={lead}>
        {bySso}
        <HowLong link={link} />
      </SignedOutFrame>
    )
  }
  return (
    <SignedOutFrame title={title} lead={lead}>
      {bySso}
      <Form sent={join} onSubmit={form.onSubmit((values) => join.mutate(values))}>
        <Stack>
          <EmailField isReadOnly input={form.getInputProps('email')} />
          {!isSignedIn && (
            <PasswordInput
              label="Password"
              description="If you have a login here, its password. If not, choose one."
              autoComplete="current-password"
              required
              {...form.getInputProps('password')}
            />
          )}
          <Refusal error={join.error} />
          <Button type="submit" loading={join.isPending}>
            {label}
          </Button>
          <HowLong link={link} />
        </Stack>
      </Form>
    </SignedOutFrame>
  )
}

function meansOf({ role, domains }: SignInLink): string {
  return role === undefined ? '' : `You will be able to ${roleWords(role, domains ?? null)}.`
}

function SetPassword(props: { token: string; link: SignInLink; sso: Installation['single_sign_on'] }) {
  const { token, link, sso } = props

  const texts = TEXTS[link.kind]
  const entering = useEntering()
  const form = useForm({
    initialValues: { email: link.email ?? '', password: '', repeated: '' },
    validate: { email: emailProblem, ...newPasswordRules },
  })
  const use = useMutation({
    mutationFn: ({ email, password }: typeof form.values) => {
      // The address of an invited account is part of the link.
      const body = link.email === null ? { token, password, email: email.trim() } : { token, password }
      return request<SignInAnswer>('POST', '/api/links/use', { body })
    },
    onSuccess: entering.take,
  })
  if (entering.step !== null) return entering.step
  return (
    <SignedOutFrame title={texts.title} lead={texts.lead}>
      {sso !== null && link.kind === 'invitation' && (
        <SsoButton
          name={sso.name}
          next={ROUTES.welcome}
          hasOthers={!sso.is_only}
          before={() => keepLinkToken(token)}
        />
      )}
      <Form sent={use} onSubmit={form.onSubmit((values) => use.mutate(values))}>
        <Stack>
          <EmailField
            description="You sign in with this address"
            isReadOnly={link.email !== null}
            input={form.getInputProps('email')}
          />
          <NewPassword form={form} words={[form.values.email]} />
          <Refusal error={use.error} />
          <Button type="submit" loading={use.isPending}>
            {texts.button}
          </Button>
          <HowLong link={link} />
        </Stack>
      </Form>
    </SignedOutFrame>
  )
}

/** Goes on after a link was used: to the domains, or to the second step of the sign-in. */
function useEntering(): { step: ReactNode; take: (answer: SignInAnswer) => void } {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [awaited, setAwaited] = useState<SecondFactorAwaited | null>(null)
  const enter = (session: SignedInView) => {
    switchAccount(queries, session)
    navigate(ROUTES.domains, { replace: true })
  }
  const take = (answer: SignInAnswer) => {
    if ('second_factor' in answer) setAwaited(answer.second_factor)
    else enter(answer)
  }
  if (awaited === null) return { step: null, take }
  const again = () => navigate(ROUTES.signIn)
  return { step: <SecondFactorForm step={awaited} onDone={enter} onAgain={again} />, take }
}

function HowLong({ link }: { link: SignInLink }) {
  return (
    <Note>
      The link works once and expires <TimeText at={link.expires_at} />.
    </Note>
  )
}
