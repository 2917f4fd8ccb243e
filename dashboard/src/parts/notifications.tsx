import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'

import { messageOf } from '../api/request.ts'

const LOOK = { withBorder: true, closeButtonProps: { 'aria-label': 'Close' } }

/** Long enough to notice a mistake. */
const UNDO_MS = 12_000

export function notifyDone(message: string, undo?: () => void): void {
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

export function notifyFailed(title: string, error: unknown): void {
  notifications.show({ title, message: messageOf(error), color: 'red', autoClose: false, ...LOOK })
}
