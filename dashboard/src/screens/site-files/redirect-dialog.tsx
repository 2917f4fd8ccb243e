import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Redirect } from '../../api/types.ts'
import { Dialog, DialogButtons } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { Refusal } from '../../parts/states.tsx'

export type Entry = Pick<Redirect, 'from' | 'to' | 'status'>

const STATUSES: readonly { value: string; label: string }[] = [
  { value: '301', label: '301: moved for good' },
  { value: '302', label: '302: moved for now' },
  { value: '307', label: '307: for now, same method' },
  { value: '308', label: '308: for good, same method' },
  { value: '410', label: '410: gone' },
]

export function RedirectDialog(props: {
  /** null: a new one. */
  before: Redirect | null
  save: (entry: Entry) => Promise<void>
  onClose: () => void
}) {
  const { before } = props
  const [from, setFrom] = useState(before?.from ?? '')
  const [to, setTo] = useState(before?.to ?? '')
  const [status, setStatus] = useState<Entry['status']>(before?.status ?? 301)
  const save = useMutation({
    mutationFn: () => props.save({ from: from.trim(), to: status === 410 ? null : to.trim(), status }),
    onSuccess: props.onClose,
  })
  return (
    <Dialog title={before === null ? 'Add a redirect' : 'Edit a redirect'} onClose={props.onClose}>
      <Form onSubmit={() => save.mutate()}>
        <Stack>
          <TextInput
            label="From"
            description="A path without query. * at its end matches any further characters."
            placeholder="/old"
            spellCheck={false}
            required
            data-autofocus
            value={from}
            onChange={(event) => setFrom(event.currentTarget.value)}
          />
          <NativeSelect
            label="Status"
            value={status}
            data={STATUSES}
            onChange={(event) => setStatus(Number(event.currentTarget.value) as Entry['status'])}
          />
          {status !== 410 && (
            <TextInput
              label="To"
              description="A path, or an address with http or https. * stands for what matched."
              placeholder="/new"
              spellCheck={false}
              required
              value={to}
              onChange={(event) => setTo(event.currentTarget.value)}
            />
          )}
          <Refusal error={save.error} />
          <DialogButtons label="Save" isBusy={save.isPending} onCancel={props.onClose} />
        </Stack>
      </Form>
    </Dialog>
  )
}
