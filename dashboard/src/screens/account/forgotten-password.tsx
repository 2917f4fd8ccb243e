import { Anchor, Button, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { installationQuery, passwordResetQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { Form } from '../../parts/form.tsx'
import { Note } from '../../parts/page.tsx'
import { Loading, Refusal } from '../../parts/states.tsx'
import { ROUTES } from '../../route-map.ts'
import { SignedOutFrame } from '../../shell/frame.tsx'
import { EmailField, emailProblem } from './email-field.tsx'

export default function ForgottenPassword() {
  const reset = useQuery(passwordResetQuery)
  const installation = useQuery(installationQuery)
  const form = useForm({ initialValues: { email: '' }, validate: { email: emailProblem } })
  const send = useMutation({
    mutationFn: ({ email }: typeof form.values) =>
      request('POST', '/api/password-reset', { body: { email: email.trim() } }),
  })
  const back = (
    <Anchor component={Link} href={ROUTES.signIn} size="sm">
      Back to sign-in
    </Anchor>
  )
  if (send.isSuccess) {
    return (
      <SignedOutFrame title="Check your e-mail">
        <Stack>
          <Text role="status">
            If <b className="break">{form.values.email.trim()}</b> has an account, a link to set a new
            password is on its way. It works once, within one hour.
          </Text>
          <Note size="sm">
            No e-mail? Check the spam folder. The operator of this installation can also create a link for
            you.
          </Note>
          {back}
        </Stack>
      </SignedOutFrame>
    )
  }
  if (reset.data?.by_mail === false) {
    const sso = installation.data?.single_sign_on ?? null
    return (
      <SignedOutFrame title="Reset your password">
        <Stack>
          <Text>
            {sso?.is_only === true
              ? `This installation has no passwords: you sign in with ${sso.name}.`
              : 'This installation does not send e-mail. Ask its operator for a link to set a new password.'}
          </Text>
          {back}
        </Stack>
      </SignedOutFrame>
    )
  }
  return (
    <SignedOutFrame title="Reset your password" lead="You get a link by e-mail to set a new password.">
      {reset.data === undefined && reset.error === null ? (
        <Loading rows={2} />
      ) : (
        <Form sent={send} onSubmit={form.onSubmit((values) => send.mutate(values))}>
          <Stack>
            <EmailField hasFocus input={form.getInputProps('email')} />
            <Refusal error={send.error} />
            <Button type="submit" loading={send.isPending}>
              Send the link
            </Button>
            {back}
          </Stack>
        </Form>
      )}
    </SignedOutFrame>
  )
}
