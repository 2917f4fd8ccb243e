import { Button, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { request } from '../../api/request.ts'
import { Refusal } from '../../parts/states.tsx'

/**
 * Leads to the provider of single sign-on, and from there to the screen `next`. `before` runs when it leaves. `hasOthers`: other ways
 * follow.
 */
export function SsoButton(props: { name: string; next: string; hasOthers: boolean; before?: () => void }) {
  const { name, next, hasOthers, before } = props
  const start = useMutation({
    mutationFn: () => request<{ url: string }>('POST', '/api/session/sso', { body: { next } }),
    onSuccess: ({ url }) => {
      before?.()
      location.assign(url)
    },
  })
  return (
    <>
      <Button
        variant={hasOthers ? 'default' : undefined}
        loading={start.isPending}
        onClick={() => start.mutate()}
      >
        Sign in with {name}
      </Button>
      <Refusal error={start.error} />
      {hasOthers && (
        <Text className="quiet" size="sm" ta="center">
          or
        </Text>
      )}
    </>
  )
}

/** Returns why a sign-in by the provider failed, as the server tells in the query of the sign-in screen, or null. */
export function ssoFailure(search: string, name = 'The provider of single sign-on'): Error | null {
  const query = new URLSearchParams(search)
  if (query.get('reason') === 'other-login') {
    return new Error(
      `Your e-mail address belongs to another login at ${name}, so you are not let in. Ask the operator of this installation.`,
    )
  }
  switch (query.get('error')) {
    case 'denied':
      return new Error(`${name} did not let you in. Ask its administrators for access, then try again.`)
    case 'expired':
      return new Error('The sign-in took longer than 10 minutes, or began in another window. Try again.')
    case 'no-access':
      return new Error(
        'You cannot enter with this login: its accounts are suspended, or another person was signed in. Ask the operator of this installation.',
      )
    case 'not-verified':
      return new Error(`${name} has not verified your e-mail address. Verify it there, then try again.`)
    case 'provider':
      return new Error(`${name} could not sign you in. Try again; if it stays, tell the operator.`)
    default:
      return null
  }
}
