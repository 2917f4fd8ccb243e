import { Button, Group, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { secondFactorQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { AddedPasskey, Passkey } from '../../api/types.ts'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog, FormDialog } from '../../parts/dialog.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { RecoveryCodesShown } from './own-factors.tsx'
import { canUsePasskeys, makePasskey } from './passkey.ts'
import { useFactorsChanged } from './use-factors-changed.ts'

type Opened = { kind: 'add' } | { kind: 'rename' | 'remove'; passkey: Passkey }

export function OwnPasskeys() {
  const factors = useQuery(secondFactorQuery)
  const [opened, setOpened] = useState<Opened | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const close = () => setOpened(null)
  const changed = useFactorsChanged()
  return (
    <Section
      title="Passkeys"
      lead="A passkey signs you in without a password, by your device or a security key."
      actions={
        canUsePasskeys() && (
          <Button size="xs" onClick={() => setOpened({ kind: 'add' })}>
            Add a passkey
          </Button>
        )
      }
    >
      <Loaded query={factors} rows={1}>
        {({ passkeys }) => (
          <DataTable
            rows={passkeys}
            keyOf={({ id }) => id}
            empty={<Note size="sm">You have no passkey.</Note>}
            columns={[
              { title: 'Name', cell: ({ name }) => <Text size="sm">{name}</Text> },
              { title: 'Added', kind: 'labelled', cell: ({ created_at: at }) => <TimeText at={at} /> },
              {
                title: 'Last used',
                kind: 'labelled',
                cell: ({ last_used_at: at }) => (at === null ? 'never' : <TimeText at={at} />),
              },
              {
                title: 'Actions',
                kind: 'action',
                cell: (passkey) => (
                  <Group gap="xs" wrap="nowrap">
                    <RowButton label="Rename" onClick={() => setOpened({ kind: 'rename', passkey })} />
                    <RowButton label="Remove" onClick={() => setOpened({ kind: 'remove', passkey })} />
                  </Group>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      {opened !== null && opened.kind !== 'remove' && (
        <NameDialog
          passkey={opened.kind === 'rename' ? opened.passkey : null}
          onClose={close}
          onDone={async (added) => {
            close()
            setCodes(added?.recovery_codes ?? null)
            await changed()
          }}
        />
      )}
      {opened?.kind === 'remove' && (
        <ConfirmDialog
          title={`Remove the passkey ${opened.passkey.name}?`}
          label="Remove"
          onClose={close}
          run={async () => {
            await request('DELETE', `/api/passkeys/${opened.passkey.id}`)
            await changed()
          }}
        >
          <Text size="sm">It no longer signs you in. Your device may still offer it.</Text>
        </ConfirmDialog>
      )}
      {codes !== null && <RecoveryCodesShown codes={codes} onClose={() => setCodes(null)} />}
    </Section>
  )
}

/** Names a new passkey (null), which the browser then makes, or renames one. */
function NameDialog(props: {
  passkey: Passkey | null
  onClose: () => void
  onDone: (added: AddedPasskey | null) => void
}) {
  const { passkey, onClose, onDone } = props
  const [name, setName] = useState(passkey?.name ?? '')
  const send = useMutation({
    mutationFn: async (): Promise<AddedPasskey | null> => {
      if (passkey !== null) {
        await request('PUT', `/api/passkeys/${passkey.id}`, { body: { name } })
        return null
      }
      const response = await makePasskey()
      return request<AddedPasskey>('POST', '/api/passkeys', { body: { name, response } })
    },
    onSuccess: (added) => {
      if (added !== null) notifyDone('The passkey was added. You are signed out in all other browsers.')
      onDone(added)
    },
  })
  return (
    <FormDialog
      title={passkey === null ? 'Add a passkey' : 'Rename the passkey'}
      label={passkey === null ? 'Go on' : 'Save'}
      sent={send}
      onSubmit={() => send.mutate()}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="To recognise it by, such as the device"
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </FormDialog>
  )
}
