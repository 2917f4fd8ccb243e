import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { request } from '../../api/request.ts'
import { useSession } from '../../api/session.ts'
import { Form } from '../../parts/form.tsx'
import { Section } from '../../parts/page.tsx'
import { Refusal } from '../../parts/states.tsx'
import { emailProblem } from './email-field.tsx'

/** The address with which a person signs in. */
export function OwnAddress() {
  const { email } = useSession().person
  const form = useForm({ initialValues: { email: '' }, validate: { email: emailProblem } })
  const send = useMutation({
    mutationFn: (values: typeof form.values) =>
      request('POST', '/api/person/email', { body: { email: values.email.trim() } }),
  })
  return (
    <Section title="E-mail address" lead={`You sign in as ${email}.`}>
      {send.isSuccess ? (
        <Text size="sm" role="status">
          A letter is on its way to <b className="break">{form.values.email.trim()}</b>. The address counts
          once you have opened its link, within 24 hours. Your old address gets a link that undoes it.
        </Text>
      ) : (
        <Form sent={send} onSubmit={form.onSubmit((values) => send.mutate(values))}>
          <Stack>
            <TextInput
              label="New address"
              type="email"
              autoComplete="email"
              {...form.getInputProps('email')}
            />
            <Refusal error={send.error} />
            <Group>
              <Button type="submit" variant="default" loading={send.isPending}>
                Change the address
              </Button>
            </Group>
          </Stack>
        </Form>
      )}
    </Section>
  )
}
