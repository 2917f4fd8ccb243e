import { Button, Group, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'

import { Dialog } from './dialog.tsx'
import { Refusal } from './states.tsx'

/**
 * Asks before something is lost, and says what. With `typed`, the name of what
 * is lost must be typed first. Stays open until `run` has succeeded.
 */
export function ConfirmDialog(props: {
  title: string
  children: ReactNode
  /** What the button says: the deed, not "OK". */
  label: string
  typed?: string
  /** Nothing is lost by it. */
  isHarmless?: boolean
  /** It cannot be done; the children say why. */
  isOff?: boolean
  run: () => Promise<unknown>
  onClose: () => void
}) {
  const [text, setText] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
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
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void run()
        }}
      >
        <Stack>
          <div>{props.children}</div>
          {props.typed !== undefined && (
            <TextInput
              label={`Type ${props.typed} to go on`}
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
              // Whoever presses Enter without having read loses nothing.
              data-autofocus={props.typed === undefined ? true : undefined}
            >
              Cancel
            </Button>
            <Button
              type="submit"
              {...(props.isHarmless !== true && { color: 'red' })}
              loading={isBusy}
              disabled={
                props.isOff === true ||
                (props.typed !== undefined && text.trim().toLowerCase() !== props.typed.toLowerCase())
              }
            >
              {props.label}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
