import { Alert, List, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { ApiError, messageOf } from '../../api/request.ts'
import { counted } from '../../format.ts'
import { Dialog, DialogButtons } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'

/** Replaces the whole list by a file. */
export function RedirectImport(props: {
  known: number
  save: (csv: string) => Promise<void>
  onClose: () => void
}) {
  const id = useId()
  const [file, setFile] = useState<File | null>(null)
  const save = useMutation({
    mutationFn: async () => {
      if (file === null) throw new Error('Choose a file.')
      await props.save(await file.text())
    },
    onSuccess: props.onClose,
  })
  return (
    <Dialog title="Import redirects" onClose={props.onClose}>
      <Form onSubmit={() => save.mutate()}>
        <Stack>
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
              onChange={({ currentTarget: { files } }) => {
                save.reset()
                setFile(files?.[0] ?? null)
              }}
            />
          </div>
          {save.error !== null && <BadLines error={save.error} />}
          <DialogButtons label="Import" isBusy={save.isPending} onCancel={props.onClose} />
        </Stack>
      </Form>
    </Dialog>
  )
}

function BadLines({ error }: { error: unknown }) {
  const lines = error instanceof ApiError ? error.lines : []
  return (
    <Alert color="red" role="alert" title="Nothing was saved">
      {lines.length === 0 ? (
        messageOf(error)
      ) : (
        <List size="sm">
          {lines.map(({ line, error: why }) => (
            <List.Item key={line} className="break">
              Line {line}: {why}
            </List.Item>
          ))}
        </List>
      )}
    </Alert>
  )
}
