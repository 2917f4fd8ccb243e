import { Alert, Anchor, Button, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'

import { keysQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useMe } from '../../api/session.ts'
import { Form, type Sent } from '../../parts/form.tsx'
import { Note, Page, Section } from '../../parts/page.tsx'
import { Secrets } from '../../parts/secrets.tsx'
import { Refusal } from '../../parts/states.tsx'
import classes from './keys.module.css'

const MAX_KEYS = 5

const LIFETIMES = [
  { value: '', label: 'Never expires' },
  { value: '30', label: 'Expires in 30 days' },
  { value: '90', label: 'Expires in 90 days' },
  { value: '365', label: 'Expires in a year' },
  { value: 'day', label: 'Expires on a date…' },
]

export default function Keys() {
  const { api_keys: hasKeys } = useMe().plan
  const keys = useQuery(keysQuery)
  const create = useMutation({
    mutationFn: (body: { name: string; expires_at: string | null }) =>
      request<{ name: string; key: string }>('POST', '/api/keys', { body }),
    onSuccess: () => keys.refetch(),
  })
  const active = keys.data?.filter(({ state }) => state === 'active').length ?? 0
  return (
    <Page title="API keys" lead="API keys let your programs manage sites and pages.">
      {hasKeys ? (
        <Section
          title="Create a key"
          lead={
            <>
              {active} of {MAX_KEYS} keys are in use. See the{' '}
              <Anchor href="/docs" underline="always">
                API reference
              </Anchor>{' '}
              for what a key can do.
            </>
          }
        >
          <NewKey create={create} isFull={active >= MAX_KEYS} />
        </Section>
      ) : (
        <Alert color="yellow" title="Your plan has no API access">
          Existing keys do not work, and you cannot create new ones. Ask the operator for a plan with API
          access.
        </Alert>
      )}
      <div className="sheet sheet-flush">
        <Secrets
          noun="key"
          secrets={keys}
          empty="Your keys are listed here. Until then, only the dashboard can change your domains."
          api="/api/keys"
          effect="every program that uses it stops working"
          created={create.data === undefined ? null : shownOnce(create.data)}
          onSeen={create.reset}
        />
      </div>
    </Page>
  )
}

function shownOnce({ name, key }: { name: string; key: string }) {
  const command = `curl ${location.origin}/api/domains \\\n  -H 'X-Api-Key: ${key}'`
  return { name, secret: key, command: { label: 'List your domains with it', value: command } }
}

type Create = Sent & {
  mutate: (body: { name: string; expires_at: string | null }, options: { onSuccess: () => void }) => void
}

function NewKey({ create, isFull }: { create: Create; isFull: boolean }) {
  const form = useForm({
    initialValues: { name: '', lifetime: '', day: '' },
    validate: {
      name: (name) => (name.trim() === '' ? 'Name what will use it, such as "agency scripts"' : null),
      day: (day, { lifetime }) =>
        lifetime === 'day' && !isInFuture(day) ? 'Choose a date in the future' : null,
    },
  })
  const submit = ({ name, lifetime, day }: typeof form.values) =>
    create.mutate({ name: name.trim(), expires_at: expiryOf(lifetime, day) }, { onSuccess: form.reset })
  return (
    <Form sent={create} onSubmit={form.onSubmit(submit)}>
      <Stack gap="xs">
        <div className={classes.create}>
          <TextInput label="Name" autoComplete="off" required {...form.getInputProps('name')} />
          <NativeSelect label="Expiry" data={LIFETIMES} {...form.getInputProps('lifetime')} />
          {form.values.lifetime === 'day' && (
            <TextInput type="date" label="Last day" required {...form.getInputProps('day')} />
          )}
          <Button type="submit" loading={create.isPending} disabled={isFull} className={classes.submit}>
            Create
          </Button>
        </div>
        {isFull && (
          <Note size="sm">An account can have {MAX_KEYS} active keys. Revoke one to create another.</Note>
        )}
        <Refusal error={create.error} />
      </Stack>
    </Form>
  )
}

function isInFuture(day: string): boolean {
  return endOfDay(day) > Date.now()
}

function expiryOf(lifetime: string, day: string): string | null {
  if (lifetime === '') return null
  const atMs = lifetime === 'day' ? endOfDay(day) : Date.now() + Number(lifetime) * 86_400_000
  return new Date(atMs).toISOString()
}

/** Returns the last second of a day in the viewer's time zone, or NaN if it is not a date. */
function endOfDay(day: string): number {
  return Date.parse(`${day}T23:59:59`)
}
