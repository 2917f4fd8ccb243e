import { Anchor, Button, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api/request.ts'
import type { SecondFactorAwaited, SignedInView } from '../../api/types.ts'
import { Form } from '../../parts/form.tsx'
import { Refusal } from '../../parts/states.tsx'
import { SignedOutFrame } from '../../shell/frame.tsx'
import { CodeField } from './code-field.tsx'
import { askPasskey } from './passkey.ts'

/** The second step of a sign-in. */
export default function SecondFactorForm(props: {
  step: SecondFactorAwaited
  onDone: (session: SignedInView) => void
  onAgain: () => void
}) {
  const { token, methods } = props.step
  const [isLost, setLost] = useState(!methods.includes('totp') && !methods.includes('passkey'))
  const [text, setText] = useState('')
  const give = useMutation({
    mutationFn: (body: object) =>
      request<SignedInView>('POST', '/api/session/second-factor', { body: { token, ...body } }),
    onSuccess: props.onDone,
    onError: () => setText(''),
  })
  const byPasskey = useMutation({
    mutationFn: async () => {
      const { response } = await askPasskey()
      return give.mutateAsync({ response })
    },
  })
  const hasApp = methods.includes('totp')
  const lead = isLost
    ? 'Enter one of your recovery codes. Each works once.'
    : 'Your sign-in needs a second factor.'
  return (
    <SignedOutFrame title="Second factor" lead={lead}>
      <Stack>
        {(hasApp || isLost) && (
          <Form sent={give} onSubmit={() => give.mutate(isLost ? { recovery_code: text } : { code: text })}>
            <Stack>
              {isLost ? (
                <TextInput
                  key="recovery"
                  label="Recovery code"
                  autoComplete="off"
                  spellCheck={false}
                  autoFocus
                  value={text}
                  onChange={(event) => setText(event.currentTarget.value)}
                />
              ) : (
                <CodeField hasFocus value={text} onChange={setText} />
              )}
              <Button type="submit" loading={give.isPending} disabled={text === ''}>
                Sign in
              </Button>
            </Stack>
          </Form>
        )}
        {methods.includes('passkey') && !isLost && (
          <Button
            variant={hasApp ? 'default' : undefined}
            loading={byPasskey.isPending}
            onClick={() => byPasskey.mutate()}
          >
            Use a passkey
          </Button>
        )}
        <Refusal error={give.error ?? byPasskey.error} />
        {methods.includes('recovery') && !isLost && (
          <Anchor
            component="button"
            type="button"
            size="sm"
            onClick={() => {
              setText('')
              setLost(true)
            }}
          >
            Use a recovery code
          </Anchor>
        )}
        <Anchor component="button" type="button" size="sm" onClick={props.onAgain}>
          Start again
        </Anchor>
      </Stack>
    </SignedOutFrame>
  )
}
