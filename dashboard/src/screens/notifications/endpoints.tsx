import { Alert, Badge, Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { deliveriesQuery, endpointsQuery } from '../../api/notification-queries.ts'
import { request } from '../../api/request.ts'
import { useMe } from '../../api/session.ts'
import type { Delivery, Endpoint } from '../../api/types.ts'
import { ShownOnce } from '../../parts/copy-field.tsx'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { notifyFailed } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded, Refusal } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'

export function Endpoints() {
  const { webhooks: mayAdd } = useMe().plan
  const endpoints = useQuery(endpointsQuery)
  return (
    <>
      <Section
        title="Event endpoints"
        lead="URLs of your programs that get each event as a signed POST, or of Slack. At most 5."
      >
        {mayAdd ? (
          <NewEndpoint onAdded={endpoints.refetch} />
        ) : (
          <Alert color="yellow">Your plan has no event endpoints. Existing ones get nothing.</Alert>
        )}
      </Section>
      <Loaded query={endpoints} rows={1}>
        {(list) => list.map((endpoint) => <OneEndpoint key={endpoint.id} endpoint={endpoint} />)}
      </Loaded>
    </>
  )
}

const FORMATS = [
  { value: 'standard', label: 'Standard Webhooks' },
  { value: 'slack', label: 'Slack' },
]

function NewEndpoint({ onAdded }: { onAdded: () => unknown }) {
  const form = useForm({ initialValues: { url: '', format: 'standard' } })
  const create = useMutation({
    mutationFn: (body: typeof form.values) =>
      request<{ endpoint: { secret: string } }>('POST', '/api/endpoints', { body }),
    onSuccess: () => {
      form.reset()
      return onAdded()
    },
  })
  return (
    <form noValidate onSubmit={form.onSubmit((values) => create.mutate(values))}>
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
        <Button type="submit" loading={create.isPending} disabled={form.values.url === ''}>
          Add
        </Button>
      </Group>
      <Refusal error={create.error} />
      {create.data !== undefined && (
        <ShownOnce
          title="Endpoint added"
          fields={[{ label: 'Secret to verify events with', value: create.data.endpoint.secret }]}
          onClose={create.reset}
        />
      )}
    </form>
  )
}

function OneEndpoint({ endpoint }: { endpoint: Endpoint }) {
  const { id, url, format, is_active: isActive, failing_since: failing } = endpoint
  const path = `/api/endpoints/${id}`
  const queries = useQueryClient()
  const [isRemoving, setRemoving] = useState(false)
  const deliveries = useQuery(deliveriesQuery(id))
  const reread = () => queries.invalidateQueries({ queryKey: endpointsQuery.queryKey })
  const act = useMutation({
    mutationFn: (sent: Parameters<typeof request>) => request(...sent),
    onSuccess: async () => {
      await reread()
      await deliveries.refetch()
    },
    onError: (error) => notifyFailed('That did not work', error),
  })
  return (
    <Section
      title={url}
      lead={
        <Group gap="xs">
          <Badge color={isActive ? 'paint' : 'gray'}>{isActive ? 'On' : 'Off'}</Badge>
          <Badge color="gray">{format}</Badge>
          {failing !== null && (
            <Text size="sm">
              no success since <TimeText at={failing} />
            </Text>
          )}
        </Group>
      }
      actions={
        <Group gap="xs">
          <Button size="xs" onClick={() => act.mutate(['POST', `${path}/test`])}>
            Send a test
          </Button>
          <Button
            size="xs"
            variant="default"
            onClick={() => act.mutate(['PUT', path, { body: { is_active: !isActive } }])}
          >
            {isActive ? 'Switch off' : 'Switch on'}
          </Button>
          <Button size="xs" variant="default" onClick={() => setRemoving(true)}>
            Remove
          </Button>
        </Group>
      }
    >
      <Loaded query={deliveries} rows={1}>
        {(list) => (
          <Deliveries
            list={list}
            onReplay={({ id }) => act.mutate(['POST', `/api/deliveries/${id}/replay`])}
          />
        )}
      </Loaded>
      {isRemoving && (
        <ConfirmDialog
          title="Remove this endpoint?"
          label="Remove"
          onClose={() => setRemoving(false)}
          run={async () => {
            await request('DELETE', path)
            await reread()
          }}
        >
          <Text size="sm" className="break">
            {url} gets no more events, and its deliveries are deleted.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}

const COLOURS = { delivered: 'paint', failed: 'red', waiting: 'gray', cancelled: 'gray' }

function Deliveries({ list, onReplay }: { list: readonly Delivery[]; onReplay: (of: Delivery) => void }) {
  return (
    <DataTable
      rows={list}
      keyOf={({ id }) => id}
      look="lines"
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
          kind: 'labelled',
          cell: ({ last_attempt_at: last, created_at: created }) => <TimeText at={last ?? created} />,
        },
        {
          title: 'Actions',
          kind: 'action',
          cell: (each) =>
            each.state !== 'waiting' && (
              <RowButton label="Replay" of={each.type} onClick={() => onReplay(each)} />
            ),
        },
      ]}
    />
  )
}
