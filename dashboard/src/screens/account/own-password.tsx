import { Button, Group, PasswordInput, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { sessionsQuery } from '../../api/queries.ts'
import { renewals, request } from '../../api/request.ts'
import { useSession } from '../../api/session.ts'
import { Form } from '../../parts/form.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Section } from '../../parts/page.tsx'
import { Refusal } from '../../parts/states.tsx'
import { NewPassword, newPasswordRules } from './new-password.tsx'

export function ChangePassword() {
  const { account, person } = useSession()
  const { email } = person
  const queries = useQueryClient()
  const form = useForm({
    initialValues: { current: '', password: '', repeated: '' },
    validate: {
      current: (current) => (current === '' ? 'Enter your current password' : null),
      ...newPasswordRules,
    },
  })
  const change = useMutation({
    mutationFn: ({ current, password }: typeof form.values) =>
      renewals.renew(() =>
        request('PUT', '/api/password', { body: { current_password: current, new_password: password } }),
      ),
    onSuccess: async () => {
      form.reset()
      notifyDone('Password changed. You are signed out in all other browsers.')
      await queries.invalidateQueries({ queryKey: sessionsQuery.queryKey })
    },
  })
  return (
    <Section title="Password" lead="A change signs you out in all other browsers.">
      <Form sent={change} onSubmit={form.onSubmit((values) => change.mutate(values))}>
        <Stack>
          {/* Tells password managers whose password it is. */}
          <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            required
            {...form.getInputProps('current')}
          />
          <NewPassword form={form} words={[email, account?.name ?? '']} />
          <Refusal error={change.error} />
          <Group>
            <Button type="submit" loading={change.isPending}>
              Change the password
            </Button>
          </Group>
        </Stack>
      </Form>
    </Section>
  )
}
