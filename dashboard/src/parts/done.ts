import { notifications } from '@mantine/notifications'

import { messageOf } from '../api.ts'

const LOOK = { withBorder: true, closeButtonProps: { 'aria-label': 'Close' } }

/** Says in the corner that something has been done. */
export function sayDone(message: string): void {
  notifications.show({ message, color: 'paint', ...LOOK })
}

/** Says that something failed, until it is closed. */
export function sayFailed(title: string, error: unknown): void {
  notifications.show({ title, message: messageOf(error), color: 'red', autoClose: false, ...LOOK })
}
