import { Alert, Button, Group, Stack } from '@mantine/core'

import { CopyField } from './copy-field.tsx'
import { Dialog } from './dialog.tsx'

/** A secret that nobody will see again, and what to do with it at once. */
export function ShownOnce(props: {
  title: string
  fields: readonly { label: string; value: string }[]
  warning?: string
  onClose: () => void
}) {
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <Stack>
        <Alert color="yellow">
          {props.warning ?? 'Copy it now: it is shown this once and stored nowhere in clear.'}
        </Alert>
        {props.fields.map(({ label, value }) => (
          <CopyField key={label} label={label} value={value} />
        ))}
        <Group justify="end">
          <Button onClick={props.onClose}>I have copied it</Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
