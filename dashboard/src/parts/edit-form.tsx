import { Button, Group, Stack } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
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
  const bar = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const save = (event: KeyboardEvent) => {
      if (
        event.key.toLowerCase() !== 's' ||
        !(event.ctrlKey || event.metaKey) ||
        event.shiftKey ||
        event.altKey
      ) {
        return
      }
      // The browser's own dialog would save this screen as a file.
      event.preventDefault()
      const isBehindDialog = document.querySelector('[aria-modal=true]') !== null
      const button = bar.current?.querySelector<HTMLButtonElement>('button[type=submit]:enabled')
      if (!isBehindDialog) button?.click()
    }
    document.addEventListener('keydown', save)
    return () => document.removeEventListener('keydown', save)
  }, [])
  return (
    <>
      <Form sent={sent} onSubmit={props.onSubmit}>
        <Stack gap="lg">
          {props.children}
          <Refusal error={sent.error} />
          <Group ref={bar} className={classes.save} data-kept={isDirty || hasNote || undefined}>
            <Button type="submit" aria-keyshortcuts="Control+S" loading={sent.isPending} disabled={!isDirty}>
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
