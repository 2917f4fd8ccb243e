import { Modal } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'

/** A dialog over the screen: takes the focus, gives it back, ends with Escape. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: () => void
  children: ReactNode
}) {
  useFocusBack()
  return (
    <Modal.Root
      opened
      onClose={onClose}
      centered
      size="lg"
      // Done in app.css: Mantine's way needs an inline style.
      lockScroll={false}
      returnFocus={false}
    >
      <Modal.Overlay />
      <Modal.Content>
        {/* Else it were a second banner of the page. */}
        <Modal.Header role="presentation">
          <Modal.Title fz="lg" fw={650}>
            {title}
          </Modal.Title>
          <Modal.CloseButton aria-label="Close" />
        </Modal.Header>
        <Modal.Body>{children}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}

/** To what had it when the dialog came; where that is gone, to the screen. Mantine's gives it back only where a dialog stays mounted. */
function useFocusBack(): void {
  const [opener] = useState(() => document.activeElement)
  useEffect(
    () => () => {
      setTimeout(() => {
        // Somebody else may have it by now: another dialog, or the field with a mistake.
        if (document.activeElement !== document.body && document.activeElement !== null) return
        const isThere = opener instanceof HTMLElement && opener.isConnected && opener !== document.body
        const to = isThere ? opener : document.getElementById('main')
        to?.focus({ preventScroll: true })
      })
    },
    [opener],
  )
}
