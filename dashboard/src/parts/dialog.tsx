import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'

import { Form, type Sent } from './form.tsx'
import { Words } from './page.tsx'
import { Refusal } from './states.tsx'

export function Dialog(props: { title: string; onClose: () => void; children: ReactNode }) {
  useFocusBack()
  return (
    <Modal.Root
      opened
      onClose={props.onClose}
      centered
      size="lg"
      // app.css locks scrolling: Mantine needs an inline style, which the content security policy forbids.
      lockScroll={false}
      returnFocus={false}
    >
      <Modal.Overlay />
      <Modal.Content>
        {/* Without the role it would be a second banner of the page. */}
        <Modal.Header role="presentation">
          <Modal.Title fz="h3" lh="h3" fw={600}>
            <Words text={props.title} />
          </Modal.Title>
          <Modal.CloseButton aria-label="Close" />
        </Modal.Header>
        <Modal.Body>{props.children}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}

/** Restores focus when the dialog closes, which Mantine does only for dialogs that stay mounted. */
function useFocusBack(): void {
  const [opener] = useState(() => document.activeElement)
  useEffect(
    () => () => {
      setTimeout(() => {
        // Another dialog, or an invalid field, may have the focus by now.
        if (document.activeElement !== document.body && document.activeElement !== null) return
        const isThere = opener instanceof HTMLElement && opener.isConnected && opener !== document.body
        const target = isThere ? opener : document.getElementById('main')
        target?.focus({ preventScroll: true })
      })
    },
    [opener],
  )
}

/** A dialog with fields. `label` is the verb on the button that sends them. */
export function FormDialog(props: {
  title: string
  label: string
  /** The button is disabled. The children say why. */
  isOff?: boolean
  sent: Sent
  onSubmit: () => void
  onClose: () => void
  children: ReactNode
}) {
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <Form sent={props.sent} onSubmit={props.onSubmit}>
        <Stack>
          {props.children}
          <Refusal error={props.sent.error} />
          <Group justify="end">
            <Button variant="default" onClick={props.onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={props.sent.isPending} disabled={props.isOff}>
              {props.label}
            </Button>
          </Group>
        </Stack>
      </Form>
    </Dialog>
  )
}

/** Asks before something is done, and stays open until `run` has succeeded. */
export function ConfirmDialog(props: {
  title: string
  children: ReactNode
  /** The verb on the button, not "OK". */
  label: string
  /** This name must be typed before the button works. */
  typed?: string
  /** Nothing is lost: the button is not red, and has the focus. */
  isHarmless?: boolean
  /** The button is disabled. The children say why. */
  isOff?: boolean
  run: () => Promise<unknown>
  onClose: () => void
}) {
  const { typed, isHarmless = false, isOff = false } = props
  const [text, setText] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const isTyped = typed === undefined || text.trim().toLowerCase() === typed.toLowerCase()
  const run = async () => {
    setBusy(true)
    setError(null)
    try {
      await props.run()
      props.onClose()
    } catch (caught) {
      setError(caught)
      setBusy(false)
    }
  }
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <Form onSubmit={() => void run()}>
        <Stack>
          <div>{props.children}</div>
          {typed !== undefined && (
            <TextInput
              label={`Type ${typed} to confirm`}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              autoComplete="off"
              spellCheck={false}
              data-autofocus
            />
          )}
          <Refusal error={error} />
          <Group justify="end">
            <Button
              variant="default"
              onClick={props.onClose}
              // Enter pressed without reading cancels where something could be lost.
              data-autofocus={(typed === undefined && !isHarmless) || undefined}
            >
              Cancel
            </Button>
            <Button
              type="submit"
              color={isHarmless ? undefined : 'red'}
              loading={isBusy}
              disabled={isOff || !isTyped}
              data-autofocus={(typed === undefined && isHarmless) || undefined}
            >
              {props.label}
            </Button>
          </Group>
        </Stack>
      </Form>
    </Dialog>
  )
}
