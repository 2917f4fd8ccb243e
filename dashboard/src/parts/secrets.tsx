import { Badge, Button, Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../api/request.ts'
import { ShownOnce } from './copy-field.tsx'
import { DataTable } from './data-table.tsx'
import { ConfirmDialog } from './dialog.tsx'
import { Note } from './page.tsx'
import { Empty, Loaded } from './states.tsx'
import { TimeText } from './time-text.tsx'

type Secret = {
  id: number
  name: string
  hint: string
  state: 'active' | 'expired' | 'revoked'
  created_at: string
  last_used_at: string | null
  expires_at?: string | null
}

/** As on the server. */
const ENDED_KEPT_DAYS = 90

export function Secrets<Each extends Secret>(props: {
  noun: 'key' | 'token'
  secrets: UseQueryResult<Each[]>
  empty: string
  /** `/api/keys` or `/api/tokens`. */
  api: string
  /** What stops working. */
  effect: string
  created: { name: string; secret: string; command: { label: string; value: string } } | null
  onSeen: () => void
}) {
  const { noun, secrets, created } = props
  const [revoking, setRevoking] = useState<Each | null>(null)
  const title = noun === 'key' ? 'Key' : 'Token'
  return (
    <>
      <Loaded query={secrets} rows={2}>
        {(list) =>
          list.length === 0 ? (
            <Empty title={`No ${noun} yet`}>{props.empty}</Empty>
          ) : (
            <SecretList secrets={list} onRevoke={setRevoking} />
          )
        }
      </Loaded>
      {created !== null && (
        <ShownOnce
          title={`${title} ${created.name}`}
          onClose={props.onSeen}
          fields={[{ label: title, value: created.secret }, created.command]}
        />
      )}
      {revoking !== null && (
        <ConfirmDialog
          title={`Revoke ${revoking.name}?`}
          label="Revoke"
          onClose={() => setRevoking(null)}
          run={async () => {
            await request('DELETE', `${props.api}/${revoking.id}`)
            await secrets.refetch()
          }}
        >
          <Text size="sm">The next request with it is refused: {props.effect}. This cannot be undone.</Text>
        </ConfirmDialog>
      )}
    </>
  )
}

function SecretList<Each extends Secret>(props: {
  secrets: readonly Each[]
  onRevoke: (secret: Each) => void
}) {
  const secrets = props.secrets.toSorted(
    (a, b) => Number(b.state === 'active') - Number(a.state === 'active'),
  )
  return (
    <div>
      <DataTable
        rows={secrets}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Name',
            cell: ({ name, hint }) => (
              <>
                <Text size="sm" fw={500} className="break">
                  {name}
                </Text>
                <Text size="xs" className="quiet" ff="monospace">
                  {hint}…
                </Text>
              </>
            ),
          },
          {
            title: 'State',
            cell: ({ state, expires_at }) => (
              <>
                <Badge color={state === 'active' ? 'paint' : 'gray'}>{state}</Badge>
                {state === 'active' && expires_at != null && (
                  <Note>
                    expires <TimeText at={expires_at} />
                  </Note>
                )}
              </>
            ),
          },
          {
            title: 'Last used',
            kind: 'labelled',
            cell: ({ last_used_at, created_at }) => (
              <>
                <TimeText at={last_used_at} />
                <Note>
                  created <TimeText at={created_at} />
                </Note>
              </>
            ),
          },
          {
            title: 'Actions',
            kind: 'action',
            cell: (secret) =>
              secret.state === 'active' && (
                <Button
                  size="compact-sm"
                  variant="default"
                  onClick={() => props.onRevoke(secret)}
                  aria-label={`Revoke ${secret.name}`}
                >
                  Revoke
                </Button>
              ),
          },
        ]}
      />
      {secrets.some(({ state }) => state !== 'active') && (
        <Note px="md" py="xs">
          Revoked and expired ones stay listed for {ENDED_KEPT_DAYS} days.
        </Note>
      )}
    </div>
  )
}
