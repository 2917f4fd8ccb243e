import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'

import { messageOf } from '../api/request.ts'

const LOOK = { withBorder: true, closeButtonProps: { 'aria-label': 'Close' } }

/** Long enough to notice a mistake. */
const UNDO_MS = 12_000

/** Says that something was done. With `undo`, a button takes it back. */
export function notifyDone(message: string, undo?: () => void): void {
  if (undo === undefined) notifications.show({ ...LOOK, message, color: 'paint' })
  else notifyUndoable(message, undo)
}

function notifyUndoable(message: string, undo: () => void): void {
  const id = notifications.show({
    ...LOOK,
    message: (
      <Group justify="space-between" gap="sm" wrap="nowrap">
        {message}
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => {
            notifications.hide(id)
            undo()
          }}
        >
          Undo
        </Button>
      </Group>
    ),
    color: 'paint',
    autoClose: UNDO_MS,
  })
}

export function notifyFailed(title: string, error: unknown): void {
  notifications.show({ ...LOOK, title, message: messageOf(error), color: 'red', autoClose: false })
}
