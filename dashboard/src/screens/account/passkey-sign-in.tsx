import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { request } from '../../api/request.ts'
import type { SignedInView } from '../../api/types.ts'
import { Refusal } from '../../parts/states.tsx'
import { askPasskey, canUsePasskeys } from './passkey.ts'

/** Signs in by a passkey that the browser has. It stands last on the screen, because it is loaded later. */
export default function PasskeySignIn({ onDone }: { onDone: (session: SignedInView) => void }) {
  const signIn = useMutation({
    mutationFn: async () =>
      request<SignedInView>('POST', '/api/session/passkey', { body: await askPasskey() }),
    onSuccess: onDone,
  })
  if (!canUsePasskeys()) return null
  return (
    <>
      <Button variant="default" loading={signIn.isPending} onClick={() => signIn.mutate()}>
        Sign in with a passkey
      </Button>
      <Refusal error={signIn.error} />
    </>
  )
}
