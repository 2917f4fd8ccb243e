import { Alert, Anchor, Button, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keysQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useMe } from '../../api/session.ts'
import type { ApiKey } from '../../api/types.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { SecretList } from '../../parts/secret-list.tsx'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { Empty, Loading, Refusal, Trouble } from '../../parts/states.tsx'
import classes from './keys.module.css'

/** How many keys of an account may work at a time. */
const KEYS_MOST = 5

const LIVES = [
  { value: '', label: 'Never ends' },
  { value: '30', label: 'Ends in 30 days' },
  { value: '90', label: 'Ends in 90 days' },
  { value: '365', label: 'Ends in a year' },
  { value: 'day', label: 'Ends on a day…' },
]

export function Keys() {
  const { api_keys: hasKeys } = useMe().plan
  const queries = useQueryClient()
  const keys = useQuery(keysQuery)
  const [revoking, setRevoking] = useState<ApiKey | null>(null)
  const form = useForm({
    initialValues: { name: '', days: '', day: '' },
    validate: {
      name: (name) => (name.trim() === '' ? 'Say what will use it, such as "agency scripts"' : null),
      day: (day, { days }) =>
        days === 'day' && !(endOfDay(day) > Date.now()) ? 'Choose a day to come' : null,
    },
  })
  const create = useMutation({
    mutationFn: ({ name, days, day }: typeof form.values) =>
      request<{ name: string; key: string }>('POST', '/api/keys', {
        body: { name: name.trim(), expires_at: endOf(days, day) },
      }),
    onSuccess: async () => {
      form.reset()
      await queries.invalidateQueries({ queryKey: keysQuery.queryKey })
    },
  })
  const active = keys.data?.filter(({ state }) => state === 'active').length ?? 0

  return (
    <Page title="API keys" lead="With a key, programs of yours do with domains and pages what you do here.">
      {!hasKeys && (
        <Alert color="yellow" title="Your plan has no API access">
          Keys that exist do not work, and none can be created. Ask the operator for a plan that has it.
        </Alert>
      )}
      {hasKeys && (
        <Section
          title="Create a key"
          lead={
            <>
              {active} of {KEYS_MOST} are in use. The{' '}
              <Anchor href="/docs" underline="always">
                API reference
              </Anchor>{' '}
              says what programs can do with one.
            </>
          }
        >
          <form noValidate onSubmit={form.onSubmit((values) => create.mutate(values))}>
            <Stack gap="xs">
              <div className={classes.create}>
                <TextInput label="Name" autoComplete="off" required {...form.getInputProps('name')} />
                <NativeSelect label="Life" data={LIVES} {...form.getInputProps('days')} />
                {form.values.days === 'day' && (
                  <TextInput type="date" label="Last day" required {...form.getInputProps('day')} />
                )}
                <Button
                  type="submit"
                  loading={create.isPending}
                  disabled={active >= KEYS_MOST}
                  className={classes.submit}
                >
                  Create
                </Button>
              </div>
              {active >= KEYS_MOST && (
                <Text size="sm" className="quiet">
                  {KEYS_MOST} are in use, which is as many as an account may have. Revoke one first.
                </Text>
              )}
              <Refusal error={create.error} />
            </Stack>
          </form>
        </Section>
      )}
      <div className="sheet sheet-flush">
        {keys.data === undefined ? (
          keys.error === null ? (
            <Loading rows={3} />
          ) : (
            <Trouble error={keys.error} onRetry={() => keys.refetch()} />
          )
        ) : keys.data.length === 0 ? (
          <Empty title="No key yet">Nothing but the dashboard can change your domains.</Empty>
        ) : (
          <SecretList secrets={keys.data} onRevoke={setRevoking} />
        )}
      </div>
      {create.data !== undefined && (
        <ShownOnce
          title={`Key ${create.data.name}`}
          onClose={create.reset}
          fields={[
            { label: 'Key', value: create.data.key },
            {
              label: 'List your domains with it',
              value: `curl ${location.origin}/api/domains \\\n  -H 'X-Api-Key: ${create.data.key}'`,
            },
          ]}
        />
      )}
      {revoking !== null && (
        <ConfirmDialog
          title={`Revoke ${revoking.name}?`}
          label="Revoke"
          onClose={() => setRevoking(null)}
          run={async () => {
            await request('DELETE', `/api/keys/${revoking.id}`)
            await queries.invalidateQueries({ queryKey: keysQuery.queryKey })
          }}
        >
          <Text size="sm">
            The next request with it is refused, so whatever uses it stops working. This cannot be undone.
          </Text>
        </ConfirmDialog>
      )}
    </Page>
  )
}

/** When a key of that life ends; null: never. */
function endOf(days: string, day: string): string | null {
  if (days === '') return null
  const atMs = days === 'day' ? endOfDay(day) : Date.now() + Number(days) * 86_400_000
  return new Date(atMs).toISOString()
}

/** The last moment of a day where the viewer is; NaN: it is none. */
function endOfDay(day: string): number {
  return Date.parse(`${day}T23:59:59`)
}
