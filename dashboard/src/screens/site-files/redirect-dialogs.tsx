import { NativeSelect, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { Redirect } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { ConfirmDialog, FormDialog } from '../../parts/dialog.tsx'

export type Entry = Pick<Redirect, 'from' | 'to' | 'status'>

const STATUSES = [
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
  const { values, getInputProps } = useForm({
    initialValues: { from: before?.from ?? '', to: before?.to ?? '', status: `${before?.status ?? 301}` },
  })
  const isGone = values.status === '410'
  const save = useMutation({
    mutationFn: () =>
      props.save({
        from: values.from.trim(),
        to: isGone ? null : values.to.trim(),
        status: Number(values.status) as Entry['status'],
      }),
    onSuccess: props.onClose,
  })
  return (
    <FormDialog
      title={before === null ? 'Add a redirect' : 'Edit a redirect'}
      label="Save"
      sent={save}
      onSubmit={() => save.mutate()}
      onClose={props.onClose}
    >
      <TextInput
        label="From"
        description="A path without query. * at its end matches any further characters."
        placeholder="/old"
        spellCheck={false}
        required
        data-autofocus
        {...getInputProps('from')}
      />
      <NativeSelect label="Status" data={STATUSES} {...getInputProps('status')} />
      {!isGone && (
        <TextInput
          label="To"
          description="A path, or an address with http or https. * stands for what matched."
          placeholder="/new"
          spellCheck={false}
          required
          {...getInputProps('to')}
        />
      )}
    </FormDialog>
  )
}

/** Replaces the whole list by a file. */
export function RedirectImport(props: {
  known: number
  save: (csv: string) => Promise<void>
  onClose: () => void
}) {
  const id = useId()
  const [file, setFile] = useState<File | null>(null)
  return (
    <ConfirmDialog
      title="Import redirects"
      label="Import"
      isHarmless={props.known === 0}
      isOff={file === null}
      run={async () => props.save((await file?.text()) ?? '')}
      onClose={props.onClose}
    >
      <Text size="sm">
        The columns are from, to and status. An empty status is 301; 410 has no to.
        {props.known > 0 && ` The file replaces the present ${counted(props.known, 'redirect')}.`}
      </Text>
      <div>
        <Text component="label" htmlFor={id} size="sm" fw={500} display="block" mb={4}>
          CSV file
        </Text>
        <input
          id={id}
          type="file"
          accept=".csv,text/csv"
          onChange={({ currentTarget: { files } }) => setFile(files?.[0] ?? null)}
        />
      </div>
    </ConfirmDialog>
  )
}
