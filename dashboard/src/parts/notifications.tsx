import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'

import { messageOf } from '../api/request.ts'

const LOOK = { withBorder: true, closeButtonProps: { 'aria-label': 'Close' } }

/** So long somebody may take to see that it was not what he wanted. */
const UNDO_MS = 12_000

/** Says in the corner that something has been done; with `undo`, and how to have it undone. */
export function sayDone(message: string, undo?: () => void): void {
  if (undo === undefined) return void notifications.show({ message, color: 'paint', ...LOOK })
  const id = notifications.show({
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
    ...LOOK,
  })
}

/** Says that something failed, until it is closed. */
export function sayFailed(title: string, error: unknown): void {
  notifications.show({ title, message: messageOf(error), color: 'red', autoClose: false, ...LOOK })
}
