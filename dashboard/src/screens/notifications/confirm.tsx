import { Anchor, Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link } from 'wouter'
import { request } from '../../api/request.ts'
import { useLinkToken } from '../../api/session.ts'
import { Refusal } from '../../parts/states.tsx'
import { ROUTES } from '../../route-map.ts'
import { SignedOutFrame } from '../../shell/frame.tsx'

/** The target of the link in a confirmation e-mail. A button, because mail programs open links. */
export default function Confirm() {
  const token = useLinkToken()
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
