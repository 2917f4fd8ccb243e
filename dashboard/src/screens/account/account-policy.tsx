import { Button, Checkbox, Group, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { ownAccountQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { OwnAccount } from '../../api/types.ts'
import { Form } from '../../parts/form.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Section } from '../../parts/page.tsx'
import { Refusal } from '../../parts/states.tsx'

const MOST_HOURS = 720

/** What an account asks of the sign-ins of its members. For owners. */
export function AccountPolicy({ policy }: Pick<OwnAccount, 'policy'>) {
  const queries = useQueryClient()
  const form = useForm({
    initialValues: {
      isRequired: policy.second_factor === 'required',
      hours: policy.session_hours === null ? '' : String(policy.session_hours),
    },
    validate: {
      hours: (hours) =>
        hours.trim() === '' ||
        (/^\d+$/.test(hours.trim()) && Number(hours) >= 1 && Number(hours) <= MOST_HOURS)
          ? null
          : `Enter a whole number from 1 to ${MOST_HOURS}, or leave it empty`,
    },
  })
  const save = useMutation({
    mutationFn: ({ isRequired, hours }: typeof form.values) => {
      const body = {
        second_factor: isRequired ? 'required' : 'optional',
        session_hours: hours.trim() === '' ? null : Number(hours),
      }
      return request('PUT', '/api/account/policy', { body })
    },
    onSuccess: () => {
      notifyDone('The security settings were saved')
      return queries.invalidateQueries({ queryKey: ownAccountQuery.queryKey })
    },
  })
  return (
    <Section
      title="Security"
      lead="How members of this account sign in. A change applies from their next request."
    >
      <Form sent={save} onSubmit={form.onSubmit((values) => save.mutate(values))}>
        <Stack>
          <Checkbox
            label="Members need a second factor"
            description="Members without an authenticator app or a passkey cannot enter. Sign-ins by single sign-on need none."
            {...form.getInputProps('isRequired', { type: 'checkbox' })}
          />
          <TextInput
            label="Sign in again after hours"
            description={`1 to ${MOST_HOURS}. Empty: sessions last up to 30 days.`}
            inputMode="numeric"
            autoComplete="off"
            {...form.getInputProps('hours')}
          />
          <Refusal error={save.error} />
          <Group>
            <Button type="submit" variant="default" loading={save.isPending} disabled={!form.isDirty()}>
              Save security settings
            </Button>
          </Group>
        </Stack>
      </Form>
    </Section>
  )
}
