import { Button, Group, Stack, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { AroundNavHandler } from 'wouter'

import { Dialog } from './parts/dialog.tsx'

/** Asks before what was typed is lost; null: nothing would be. */
let ask: ((goOn: () => void) => void) | null = null

/** What was typed is of no use any more: nobody is asked. */
export function forgetTyped(): void {
  ask = null
}

/** Around every navigation within the dashboard. */
export const guardedNavigation: AroundNavHandler = (navigate, to, options) => {
  if (ask === null) navigate(to, options)
  else ask(() => navigate(to, options))
}

/**
 * While `isDirty`, leaving the screen asks first: by a link of the dashboard, and
 * by closing the page (there the browser asks in its own words). The browser's
 * own way back to another screen is not held.
 */
export function LeaveGuard({ isDirty }: { isDirty: boolean }) {
  const [goOn, setGoOn] = useState<(() => void) | null>(null)
  useEffect(() => {
    if (!isDirty) return
    const hold = (event: BeforeUnloadEvent) => event.preventDefault()
    ask = (next) => setGoOn(() => next)
    window.addEventListener('beforeunload', hold)
    return () => {
      ask = null
      window.removeEventListener('beforeunload', hold)
    }
  }, [isDirty])
  if (goOn === null) return null
  return (
    <Dialog title="Leave without saving?" onClose={() => setGoOn(null)}>
      <Stack>
        <Text size="sm">What you have changed here is not saved yet, and would be lost.</Text>
        <Group justify="end">
          <Button variant="default" onClick={() => setGoOn(null)} data-autofocus>
            Stay here
          </Button>
          <Button
            color="red"
            onClick={() => {
              ask = null
              setGoOn(null)
              goOn()
            }}
          >
            Leave
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
