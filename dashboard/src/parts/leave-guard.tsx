import { Button, Group, Stack, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { Dialog } from './dialog.tsx'
import { isBackHeld, leaving } from './leaving.ts'

/** While `isDirty`, asks before leaving by link or back button. The browser asks before the window closes. */
export function LeaveGuard({ isDirty }: { isDirty: boolean }) {
  const [asked, setAsked] = useState<{ goOn: () => void; stay: () => void } | null>(null)
  useEffect(dropHeldEntry, [])
  useEffect(() => {
    if (!isDirty) return
    const hold = (event: BeforeUnloadEvent) => {
      if (leaving.isGuarded) event.preventDefault()
    }
    leaving.guard((goOn) => setAsked({ goOn, stay: () => {} }))
    const held = new HeldBackButton(() => {
      if (leaving.isGuarded) setAsked({ goOn: () => history.back(), stay: () => held.hold() })
    })
    window.addEventListener('beforeunload', hold)
    return () => {
      leaving.release()
      held.release()
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
        <Text size="sm">Your changes are not saved and will be lost.</Text>
        <Group justify="end">
          <Button variant="default" onClick={close} data-autofocus>
            Stay
          </Button>
          <Button
            color="red"
            onClick={() => {
              leaving.release()
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

/** The state of the extra history entry that intercepts the back button. */
const HELD_ENTRY = { isHeld: true }

/** Adds an extra history entry, so that the back button calls `onBack` and stays on the screen. */
class HeldBackButton {
  readonly #popped: () => void

  constructor(onBack: () => void) {
    this.#popped = () => {
      if (!isBackHeld()) onBack()
    }
    history.scrollRestoration = 'manual'
    this.hold()
    window.addEventListener('popstate', this.#popped)
  }

  /** Adds the entry once more, after the back button has used it. */
  hold(): void {
    history.pushState(HELD_ENTRY, '')
  }

  /** Removes the entry. */
  release(): void {
    window.removeEventListener('popstate', this.#popped)
    dropHeldEntry()
  }
}

/** Going back is asynchronous: meanwhile the extra entry is still current. */
let isDropping = false

/** Removes the extra entry if it is current, also after a reload. */
function dropHeldEntry(): void {
  if (isDropping) return
  if (!isBackHeld()) {
    history.scrollRestoration = 'auto'
    return
  }
  isDropping = true
  const gone = () => {
    isDropping = false
    history.scrollRestoration = 'auto'
  }
  window.addEventListener('popstate', gone, { once: true })
  history.back()
}
