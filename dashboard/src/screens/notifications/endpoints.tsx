import { Alert, Badge, Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { deliveriesQuery, endpointsQuery } from '../../api/notification-queries.ts'
import { request } from '../../api/request.ts'
import { useMe } from '../../api/session.ts'
import type { Endpoint } from '../../api/types.ts'
import { ShownOnce } from '../../parts/copy-field.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
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

function NewEndpoint({ onAdded }: { onAdded: () => unknown }) {
  const [url, setUrl] = useState('')
  const [format, setFormat] = useState('standard')
  const create = useMutation({
    mutationFn: () =>
      request<{ endpoint: { url: string; secret: string } }>('POST', '/api/endpoints', {
        body: { url, format },
      }),
    onSuccess: () => {
      setUrl('')
      return onAdded()
    },
  })
  return (
    <Form onSubmit={() => create.mutate()}>
      <Group align="end">
        <TextInput
          label="URL"
          type="url"
          flex={1}
          miw={220}
          autoComplete="off"
          placeholder="https://hooks.example.com/prepaint"
          value={url}
          onChange={({ currentTarget: { value } }) => setUrl(value)}
        />
        <NativeSelect
          label="Format"
          value={format}
          data={[
            { value: 'standard', label: 'Standard Webhooks' },
            { value: 'slack', label: 'Slack' },
          ]}
          onChange={({ currentTarget: { value } }) => setFormat(value)}
        />
        <Button type="submit" loading={create.isPending} disabled={url === ''}>
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
    </Form>
  )
}

function OneEndpoint({ endpoint }: { endpoint: Endpoint }) {
  const { id, url, is_active: isActive, failing_since: failing } = endpoint
  const queries = useQueryClient()
  const [isRemoving, setRemoving] = useState(false)
  const deliveries = useQuery(deliveriesQuery(id))
  const reread = async () => {
    await queries.invalidateQueries({ queryKey: endpointsQuery.queryKey })
    await deliveries.refetch()
  }
  const act = useMutation({
    mutationFn: ({ method, path, body }: { method: 'POST' | 'PUT'; path: string; body?: unknown }) =>
      request(method, path, { body }),
    onSuccess: reread,
    onError: (error) => notifyFailed('That did not work', error),
  })
  return (
    <Section
      title={url}
      lead={
        <Group gap="xs">
          <Badge color={isActive ? 'paint' : 'gray'}>{isActive ? 'On' : 'Off'}</Badge>
          <Badge color="gray">{endpoint.format}</Badge>
          {failing !== null && (
            <Text size="sm">
              no success since <TimeText at={failing} />
            </Text>
          )}
        </Group>
      }
      actions={
        <Group gap="xs">
          <Button size="xs" onClick={() => act.mutate({ method: 'POST', path: `/api/endpoints/${id}/test` })}>
            Send a test
          </Button>
          <Button
            size="xs"
            variant="default"
            onClick={() =>
              act.mutate({ method: 'PUT', path: `/api/endpoints/${id}`, body: { is_active: !isActive } })
            }
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
        {(list) =>
          list.length === 0 ? (
            <Note>No deliveries yet.</Note>
          ) : (
            <DataTable
              rows={list}
              keyOf={(each) => each.id}
              look="lines"
              columns={[
                { title: 'Event', cell: ({ type }) => type },
                {
                  title: 'Result',
                  cell: ({ state, status, error, attempts }) => (
                    <>
                      <Badge color={state === 'delivered' ? 'paint' : state === 'failed' ? 'red' : 'gray'}>
                        {state}
                      </Badge>{' '}
                      {error ?? status ?? ''} {attempts > 1 && `after ${attempts} attempts`}
                    </>
                  ),
                },
                {
                  title: 'When',
                  kind: 'labelled',
                  cell: (each) => <TimeText at={each.last_attempt_at ?? each.created_at} />,
                },
                {
                  title: 'Actions',
                  kind: 'action',
                  cell: ({ id: delivery, state, type }) =>
                    state !== 'waiting' && (
                      <Button
                        size="compact-sm"
                        variant="default"
                        aria-label={`Replay ${type}`}
                        onClick={() =>
                          act.mutate({ method: 'POST', path: `/api/deliveries/${delivery}/replay` })
                        }
                      >
                        Replay
                      </Button>
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {isRemoving && (
        <ConfirmDialog
          title="Remove this endpoint?"
          label="Remove"
          onClose={() => setRemoving(false)}
          run={async () => {
            await request('DELETE', `/api/endpoints/${id}`)
            await queries.invalidateQueries({ queryKey: endpointsQuery.queryKey })
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
