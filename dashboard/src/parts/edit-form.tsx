import { Button, Group, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './edit-form.module.css'
import { Form, type Sent } from './form.tsx'
import { LeaveGuard } from './leave-guard.tsx'
import { Note } from './page.tsx'
import { Refusal } from './states.tsx'

/** A form of a whole screen. It asks before its changes are lost, and keeps its buttons in sight while there are any. */
export function EditForm(props: {
  isDirty: boolean
  sent: Sent
  onSubmit: () => void
  onUndo: () => void
  /** Stands in the bar of the buttons, which then stays in sight: what to know or do after saving. */
  note?: ReactNode
  children: ReactNode
}) {
  const { isDirty, sent, note } = props
  const hasNote = Boolean(note)
  return (
    <>
      <Form sent={sent} onSubmit={props.onSubmit}>
        <Stack gap="lg">
          {props.children}
          <Refusal error={sent.error} />
          <Group className={classes.save} data-kept={isDirty || hasNote || undefined}>
            <Button type="submit" loading={sent.isPending} disabled={!isDirty}>
              Save
            </Button>
            <Button variant="default" disabled={!isDirty} onClick={props.onUndo}>
              Undo changes
            </Button>
            <Note size="sm" role="status">
              {isDirty ? 'Not saved yet' : ''}
            </Note>
            {note}
          </Group>
        </Stack>
      </Form>
      <LeaveGuard isDirty={isDirty} />
    </>
  )
}
