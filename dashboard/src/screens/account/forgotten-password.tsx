import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { passwordResetQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { Loading, Refusal } from '../../parts/states.tsx'
import { ROUTES } from '../../route-map.ts'
import { Door } from '../../shell/frame.tsx'

/** A new password by mail; where none is sent, what to do instead. */
export function Forgotten() {
  const reset = useQuery(passwordResetQuery)
  const form = useForm({
    initialValues: { email: '' },
    validate: {
      email: (email) => (/^\S+@\S+$/.test(email.trim()) ? null : 'Enter the e-mail address of your account'),
    },
  })
  const ask = useMutation({
    mutationFn: ({ email }: typeof form.values) =>
      request('POST', '/api/password-reset', { body: { email: email.trim() } }),
  })
  const back = (
    <Anchor component={Link} href={ROUTES.signIn} size="sm">
      Back to signing in
    </Anchor>
  )
  if (ask.isSuccess) {
    return (
      <Door title="Look into your mail">
        <Stack>
          <Text role="status">
            If there is an account for <b className="break">{form.values.email.trim()}</b>, a link for a new
            password is on its way. It works once, for an hour.
          </Text>
          <Text size="sm" className="quiet">
            Nothing came? Look where unwanted mail goes; then ask the operator of this installation, who can
            make such a link as well.
          </Text>
          {back}
        </Stack>
      </Door>
    )
  }
  if (reset.data?.by_mail === false) {
    return (
      <Door title="A new password">
        <Stack>
          <Text>
            This installation sends no mail. Its operator can make a link by which you set a new password: ask
            him for it.
          </Text>
          {back}
        </Stack>
      </Door>
    )
  }
  return (
    <Door title="A new password" lead="We send you a link by which you set it.">
      {reset.data === undefined && reset.error === null ? (
        <Loading rows={2} />
      ) : (
        <form noValidate onSubmit={form.onSubmit((values) => ask.mutate(values))}>
          <Stack>
            <TextInput
              label="E-mail"
              type="email"
              autoComplete="username"
              autoFocus
              required
              {...form.getInputProps('email')}
            />
            <Refusal error={ask.error} />
            <Button type="submit" loading={ask.isPending}>
              Send the link
            </Button>
            {back}
          </Stack>
        </form>
      )}
    </Door>
  )
}
