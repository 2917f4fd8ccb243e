import { Button, Group } from '@mantine/core'
import { Note } from './page.tsx'
import classes from './save-bar.module.css'

/** At the end of a form; in sight while there are unsaved changes. */
export function SaveBar(props: { isDirty: boolean; isBusy: boolean; onUndo: () => void }) {
  const { isDirty } = props
  return (
    <Group className={classes.save} data-dirty={isDirty || undefined}>
      <Button type="submit" loading={props.isBusy} disabled={!isDirty}>
        Save
      </Button>
      <Button variant="default" disabled={!isDirty} onClick={props.onUndo}>
        Undo changes
      </Button>
      <Note size="sm" role="status">
        {isDirty ? 'Not saved yet' : ''}
      </Note>
    </Group>
  )
}
