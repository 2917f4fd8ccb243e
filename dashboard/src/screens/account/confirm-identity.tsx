import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { ConfirmWay } from '../../api/identity.ts'
import { request } from '../../api/request.ts'
import { useSession } from '../../api/session.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { Refusal } from '../../parts/states.tsx'
import { CodeField } from './code-field.tsx'
import { ConfirmBySso } from './confirm-by-sso.tsx'
import { askPasskey } from './passkey.ts'

/** Asks a person to prove again who it is. What it was about goes on afterwards. */
export default function ConfirmIdentity(props: {
  ways: readonly ConfirmWay[]
  onAnswer: (isConfirmed: boolean) => void
}) {
  const { ways, onAnswer } = props
  const { email } = useSession().person
  const [text, setText] = useState('')
  const confirm = useMutation({
    mutationFn: (body: object) => request('POST', '/api/session/confirm', { body }),
    onSuccess: () => onAnswer(true),
    onError: () => setText(''),
  })
  const byPasskey = useMutation({
    mutationFn: async () => confirm.mutateAsync(await askPasskey()),
  })
  const isByText = ways.includes('password') || ways.includes('totp')
  return (
    <Dialog title="Confirm that it is you" onClose={() => onAnswer(false)}>
      <Stack>
        <Text size="sm">You signed in a while ago. Confirm that it is still you to go on.</Text>
        {isByText && (
          <Form
            sent={confirm}
            onSubmit={() => confirm.mutate(ways.includes('password') ? { password: text } : { code: text })}
          >
            <Stack>
              {ways.includes('password') ? (
                <>
                  <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
                  <PasswordInput
                    label="Your password"
                    autoComplete="current-password"
                    data-autofocus
                    value={text}
                    onChange={(event) => setText(event.currentTarget.value)}
                  />
                </>
              ) : (
                <CodeField hasFocus value={text} onChange={setText} />
              )}
              <Group justify="end">
                <Button variant="default" onClick={() => onAnswer(false)}>
                  Cancel
                </Button>
                <Button type="submit" loading={confirm.isPending} disabled={text === ''}>
                  Confirm
                </Button>
              </Group>
            </Stack>
          </Form>
        )}
        {ways.includes('passkey') && (
          <Button
            variant={isByText ? 'default' : undefined}
            loading={byPasskey.isPending}
            onClick={() => byPasskey.mutate()}
          >
            Use a passkey
          </Button>
        )}
        {ways.includes('sso') && <ConfirmBySso onConfirmed={() => onAnswer(true)} />}
        <Refusal error={confirm.error ?? byPasskey.error} />
      </Stack>
    </Dialog>
  )
}
