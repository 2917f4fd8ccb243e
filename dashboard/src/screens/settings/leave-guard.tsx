import { Button, Group, Stack, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { AroundNavHandler } from 'wouter'
import { Dialog } from '../../parts/dialog.tsx'
import { dropHeldEntry, holdWayBack, isWayBackHeld } from './held-back.ts'

/** Asks before what was typed is lost; null: nothing would be. */
let ask: ((goOn: () => void) => void) | null = null

/** What was typed is of no use any more: nobody is asked. */
export function forgetTyped(): void {
  ask = null
}

/** Around every navigation within the dashboard. */
export const guardedNavigation: AroundNavHandler = (navigate, to, options) => {
  const go = () => navigate(to, isWayBackHeld() ? { ...options, replace: true } : options)
  if (ask === null) go()
  else ask(go)
}

/**
 * While `isDirty`, leaving the screen asks first: by a link of the dashboard, by
 * the browser's way back, and by closing the page (there the browser asks in its
 * own words).
 */
export function LeaveGuard({ isDirty }: { isDirty: boolean }) {
  const [asked, setAsked] = useState<{ goOn: () => void; stay: () => void } | null>(null)
  // One that was left by a reload.
  useEffect(dropHeldEntry, [])
  useEffect(() => {
    if (!isDirty) return
    const hold = (event: BeforeUnloadEvent) => {
      if (ask !== null) event.preventDefault()
    }
    ask = (goOn) => setAsked({ goOn, stay: () => {} })
    const wayBack = holdWayBack(() => {
      if (ask !== null) setAsked({ goOn: () => history.back(), stay: wayBack.again })
    })
    window.addEventListener('beforeunload', hold)
    return () => {
      ask = null
      wayBack.release()
      window.removeEventListener('beforeunload', hold)
    }
  }, [isDirty])
  if (asked === null) return null
  const { goOn, stay } = asked
  const close = () => {
    stay()
    setAsked(null)
  }
  return (
    <Dialog title="Leave without saving?" onClose={close}>
      <Stack>
        <Text size="sm">What you have changed here is not saved yet, and would be lost.</Text>
        <Group justify="end">
          <Button variant="default" onClick={close} data-autofocus>
            Stay here
          </Button>
          <Button
            color="red"
            onClick={() => {
              ask = null
              setAsked(null)
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
