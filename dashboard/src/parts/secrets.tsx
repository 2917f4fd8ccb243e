import { Badge, Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../api/request.ts'
import { type Copied, ShownOnce } from './copy-field.tsx'
import { DataTable, RowButton } from './data-table.tsx'
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

/** The server deletes revoked and expired ones after so many days. */
const ENDED_KEPT_DAYS = 90

export type CreatedSecret = { name: string; secret: string; command: Copied }

/** Lists keys or tokens, revokes them, and shows a new one once. */
export function Secrets<Item extends Secret>(props: {
  noun: 'key' | 'token'
  secrets: UseQueryResult<Item[]>
  empty: string
  /** The path of the API before the id: `/api/keys` or `/api/tokens`. */
  api: string
  /** What stops working when one is revoked. */
  effect: string
  /** What a secret is limited to, in short sentences. */
  limitsOf?: (secret: Item) => string[]
  created: CreatedSecret | null
  onSeen: () => void
}) {
  const { noun, secrets, created } = props
  const [revoking, setRevoking] = useState<Item | null>(null)
  const title = noun === 'key' ? 'Key' : 'Token'
  return (
    <>
      <Loaded query={secrets} rows={2}>
        {(list) =>
          list.length === 0 ? (
            <Empty title={`No ${noun} yet`}>{props.empty}</Empty>
          ) : (
            <SecretList secrets={list} limitsOf={props.limitsOf} onRevoke={setRevoking} />
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
          <Text size="sm">
            {title} <code>{revoking.hint}…</code>
          </Text>
          <Text size="sm">The next request with it is refused: {props.effect}. This cannot be undone.</Text>
        </ConfirmDialog>
      )}
    </>
  )
}

function SecretList<Item extends Secret>(props: {
  secrets: readonly Item[]
  limitsOf: ((secret: Item) => string[]) | undefined
  onRevoke: (secret: Item) => void
}) {
  const active = props.secrets.filter(({ state }) => state === 'active')
  const ended = props.secrets.filter(({ state }) => state !== 'active')
  const secrets = [...active, ...ended]
  return (
    <div>
      <DataTable
        rows={secrets}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Name',
            cell: (secret) => (
              <>
                <Text size="sm" fw={500} className="break">
                  {secret.name}
                </Text>
                <Text size="xs" className="quiet" ff="monospace">
                  {secret.hint}…
                </Text>
                {props.limitsOf?.(secret).map((limit) => (
                  <Note key={limit} className="break">
                    {limit}
                  </Note>
                ))}
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
                <RowButton label="Revoke" subject={secret.name} onClick={() => props.onRevoke(secret)} />
              ),
          },
        ]}
      />
      {ended.length > 0 && (
        <Note px="md" py="xs">
          Revoked and expired ones stay listed for {ENDED_KEPT_DAYS} days.
        </Note>
      )}
    </div>
  )
}
