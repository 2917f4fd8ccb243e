import { Alert, Badge, Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { deliveriesQuery, endpointsQuery, useChannelRequest } from '../../api/notification-queries.ts'
import { useMe } from '../../api/session.ts'
import type { Endpoint } from '../../api/types.ts'
import { ShownOnce } from '../../parts/copy-field.tsx'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'

export function Endpoints() {
  const { webhooks: mayAdd } = useMe().plan
  const send = useChannelRequest()
  const [removed, setRemoved] = useState<Endpoint | null>(null)
  return (
    <Section
      title="Event endpoints"
      lead="URLs of your programs that get each event as a signed POST, or of Slack. At most 5."
    >
      {mayAdd ? (
        <NewEndpoint />
      ) : (
        <Alert color="yellow">Your plan has no event endpoints. Existing ones get nothing.</Alert>
      )}
      <Loaded query={useQuery(endpointsQuery)} rows={1}>
        {(list) => (
          <DataTable
            rows={list}
            keyOf={({ id }) => id}
            empty={<Note>No endpoints yet.</Note>}
            detail={({ id }) => <Deliveries endpoint={id} />}
            columns={[
              {
                title: 'Endpoint',
                cell: ({ url, format, is_active: isActive, failing_since: failing }) => (
                  <>
                    <Text className="break">{url}</Text>
                    <Badge color={isActive ? 'paint' : 'gray'}>{isActive ? 'On' : 'Off'}</Badge> {format}{' '}
                    {failing !== null && (
                      <>
                        no success since <TimeText at={failing} />
                      </>
                    )}
                  </>
                ),
              },
              {
                title: 'Actions',
                kind: 'action',
                cell: (endpoint) => <Actions endpoint={endpoint} remove={() => setRemoved(endpoint)} />,
              },
            ]}
          />
        )}
      </Loaded>
      {removed !== null && (
        <ConfirmDialog
          title="Remove this endpoint?"
          label="Remove"
          onClose={() => setRemoved(null)}
          run={() => send.mutateAsync(['DELETE', `/api/endpoints/${removed.id}`])}
        >
          <Text size="sm" className="break">
            {removed.url} gets no more events, and its deliveries are deleted.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}

function Actions({ endpoint, remove }: { endpoint: Endpoint; remove: () => void }) {
  const send = useChannelRequest()
  const { id, url, is_active: isActive } = endpoint
  const path = `/api/endpoints/${id}`
  const toggle = () => send.mutate(['PUT', path, { body: { is_active: !isActive } }])
  return (
    <Group gap="xs" justify="end">
      <RowButton label="Send a test" of={`to ${url}`} onClick={() => send.mutate(['POST', `${path}/test`])} />
      <RowButton label={isActive ? 'Switch off' : 'Switch on'} of={url} onClick={toggle} />
      <RowButton label="Remove" of={url} onClick={remove} />
    </Group>
  )
}

const FORMATS = [
  { value: 'standard', label: 'Standard Webhooks' },
  { value: 'slack', label: 'Slack' },
]

function NewEndpoint() {
  const form = useForm({ initialValues: { url: '', format: 'standard' } })
  const { mutate, isPending, data, reset } = useChannelRequest<{ endpoint: { secret: string } }>()
  const submit = (body: typeof form.values) =>
    mutate(['POST', '/api/endpoints', { body }], { onSuccess: form.reset })
  return (
    <form noValidate onSubmit={form.onSubmit(submit)}>
      <Group align="end">
        <TextInput
          label="URL"
          type="url"
          flex={1}
          miw={220}
          autoComplete="off"
          placeholder="https://hooks.example.com/prepaint"
          {...form.getInputProps('url')}
        />
        <NativeSelect label="Format" data={FORMATS} {...form.getInputProps('format')} />
        <Button type="submit" loading={isPending} disabled={form.values.url === ''}>
          Add
        </Button>
      </Group>
      {data !== undefined && (
        <ShownOnce
          title="Endpoint added"
          fields={[{ label: 'Secret to verify events with', value: data.endpoint.secret }]}
          onClose={reset}
        />
      )}
    </form>
  )
}

const COLOURS = { delivered: 'paint', failed: 'red', waiting: 'gray', cancelled: 'gray' }

function Deliveries({ endpoint }: { endpoint: number }) {
  const send = useChannelRequest()
  return (
    <Loaded query={useQuery(deliveriesQuery(endpoint))} rows={1}>
      {(rows) => (
        <DataTable
          rows={rows}
          keyOf={({ id }) => id}
          look="compact"
          empty={<Note>No deliveries yet.</Note>}
          columns={[
            { title: 'Event', cell: ({ type }) => type },
            {
              title: 'Result',
              cell: ({ state, status, error, attempts }) => (
                <>
                  <Badge color={COLOURS[state]}>{state}</Badge> {error ?? status ?? ''}{' '}
                  {attempts > 1 && `after ${attempts} attempts`}
                </>
              ),
            },
            { title: 'When', cell: (each) => <TimeText at={each.last_attempt_at ?? each.created_at} /> },
            {
              title: 'Actions',
              kind: 'action',
              cell: ({ id, state, type }) => {
                const replay = () => send.mutate(['POST', `/api/deliveries/${id}/replay`])
                return state !== 'waiting' && <RowButton label="Replay" of={type} onClick={replay} />
              },
            },
          ]}
        />
      )}
    </Loaded>
  )
}
