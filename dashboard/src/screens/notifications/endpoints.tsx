import { Alert, Badge, Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { deliveriesQuery, endpointsQuery, useChannelRequest } from '../../api/notification-queries.ts'
import { useMe } from '../../api/session.ts'
import type { Delivery, Endpoint } from '../../api/types.ts'
import { ShownOnce } from '../../parts/copy-field.tsx'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'

export function Endpoints() {
  const { webhooks: mayAdd } = useMe().plan
  const endpoints = useQuery(endpointsQuery)
  const send = useChannelRequest()
  const [removed, setRemoved] = useState<Endpoint | null>(null)
  return (
    <Section
      title="Event endpoints"
      lead="Send events to your own programs (signed POST) or to Slack. At most 5."
    >
      {mayAdd ? (
        <NewEndpoint />
      ) : (
        <Alert color="yellow">Your plan has no event endpoints. Existing ones get nothing.</Alert>
      )}
      <Loaded query={endpoints} rows={1}>
        {(list) => <EndpointTable endpoints={list} onRemove={setRemoved} />}
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

function EndpointTable(props: { endpoints: readonly Endpoint[]; onRemove: (endpoint: Endpoint) => void }) {
  return (
    <DataTable
      rows={props.endpoints}
      keyOf={({ id }) => id}
      empty={<Note>No endpoints yet.</Note>}
      detail={({ id }) => <Deliveries endpoint={id} />}
      columns={[
        { title: 'Endpoint', cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
        {
          title: 'Actions',
          kind: 'action',
          cell: (endpoint) => <Actions endpoint={endpoint} onRemove={() => props.onRemove(endpoint)} />,
        },
      ]}
    />
  )
}

function EndpointState({ endpoint }: { endpoint: Endpoint }) {
  const { url, format, is_active: isActive, failing_since: failingSince } = endpoint
  return (
    <>
      <Text className="break">{url}</Text>
      <Badge color={isActive ? 'paint' : 'gray'}>{isActive ? 'On' : 'Off'}</Badge> {format}{' '}
      {failingSince !== null && (
        <>
          no success since <TimeText at={failingSince} />
        </>
      )}
    </>
  )
}

function Actions({ endpoint, onRemove }: { endpoint: Endpoint; onRemove: () => void }) {
  const send = useChannelRequest()
  const { id, url, is_active: isActive } = endpoint
  const path = `/api/endpoints/${id}`
  const toggle = () => send.mutate(['PUT', path, { body: { is_active: !isActive } }])
  return (
    <Group gap="xs" justify="end">
      <RowButton
        label="Send a test"
        subject={`to ${url}`}
        onClick={() => send.mutate(['POST', `${path}/test`])}
      />
      <RowButton label={isActive ? 'Switch off' : 'Switch on'} subject={url} onClick={toggle} />
      <RowButton label="Remove" subject={url} onClick={onRemove} />
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
    <Form onSubmit={form.onSubmit(submit)}>
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
    </Form>
  )
}

const COLOURS: Record<Delivery['state'], string> = {
  delivered: 'paint',
  failed: 'red',
  waiting: 'gray',
  cancelled: 'gray',
}

function Deliveries({ endpoint }: { endpoint: number }) {
  const send = useChannelRequest()
  const deliveries = useQuery(deliveriesQuery(endpoint))
  return (
    <Loaded query={deliveries} rows={1}>
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
            {
              title: 'When',
              cell: ({ last_attempt_at: lastAt, created_at: createdAt }) => (
                <TimeText at={lastAt ?? createdAt} />
              ),
            },
            {
              title: 'Actions',
              kind: 'action',
              cell: ({ id, state, type }) => {
                const replay = () => send.mutate(['POST', `/api/deliveries/${id}/replay`])
                return state !== 'waiting' && <RowButton label="Replay" subject={type} onClick={replay} />
              },
            },
          ]}
        />
      )}
    </Loaded>
  )
}
