import { Anchor, Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useLinkToken } from '../../api/link-token.ts'
import { request } from '../../api/request.ts'
import { Refusal } from '../../parts/states.tsx'
import { ROUTES } from '../../route-map.ts'
import { SignedOutFrame } from '../../shell/frame.tsx'

/** The target of links in e-mails that confirm an address: of notifications, or of a login. */
export default function Confirm() {
  const token = useLinkToken()
  return token.startsWith('pp_em_') ? <ConfirmLogin token={token} /> : <ConfirmRecipient token={token} />
}

/** Changes the address of a login, or undoes a change. A button, because mail programs open links. */
function ConfirmLogin({ token }: { token: string }) {
  const confirm = useMutation({
    mutationFn: () =>
      request<{ email: string; undone: boolean }>('POST', '/api/person/email/confirm', { body: { token } }),
  })
  if (confirm.data !== undefined) {
    const { email, undone } = confirm.data
    const lead = undone
      ? `Your login has the address ${email} again, and is signed out everywhere. Set a new password.`
      : `Your login has the address ${email} now.`
    return (
      <SignedOutFrame title={undone ? 'Undone' : 'Confirmed'} lead={lead}>
        <Anchor component={Link} href={undone ? ROUTES.forgotten : ROUTES.domains}>
          {undone ? 'Set a new password' : 'Go to your domains'}
        </Anchor>
      </SignedOutFrame>
    )
  }
  return (
    <SignedOutFrame
      title="Address of your login"
      lead="Confirm the address of your login, as the e-mail says."
    >
      <Button loading={confirm.isPending} onClick={() => confirm.mutate()}>
        Go on
      </Button>
      <Refusal error={confirm.error} />
    </SignedOutFrame>
  )
}

/** A button, because mail programs open links. */
function ConfirmRecipient({ token }: { token: string }) {
  const confirm = useMutation({
    mutationFn: () => request<{ email: string }>('POST', '/api/notifications/confirm', { body: { token } }),
  })
  if (confirm.data !== undefined) {
    return (
      <SignedOutFrame title="Confirmed" lead={`${confirm.data.email} now gets e-mails about incidents.`}>
        <Anchor component={Link} href={ROUTES.notifications}>
          Go to notifications
        </Anchor>
      </SignedOutFrame>
    )
  }
  return (
    <SignedOutFrame
      title="Confirm your address"
      lead="You get an e-mail when something is wrong with a site."
    >
      <Button loading={confirm.isPending} disabled={token === ''} onClick={() => confirm.mutate()}>
        Confirm this address
      </Button>
      <Refusal error={confirm.error} />
    </SignedOutFrame>
  )
}
