import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { type ReactNode, useRef, useState } from 'react'
import { Dialog } from './dialog.tsx'
import { Note } from './page.tsx'

/** Returns a function that copies a text, and what to say of it afterwards. */
export function useCopying(text: string): { said: string; copy(): Promise<void> } {
  const [said, setSaid] = useState('')
  const copy = async () => {
    // Pages without HTTPS have no clipboard.
    try {
      await navigator.clipboard.writeText(text)
      setSaid('Copied')
    } catch {
      setSaid('Select the text and copy it')
    }
  }
  return { said, copy }
}

/** A text with a button that copies it. */
export function CopyField({ label, value }: Copied) {
  const { said, copy } = useCopying(value)
  return (
    <Stack gap={6}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={500}>
          {label}
        </Text>
        <Group gap="xs">
          <Note role="status">{said}</Note>
          <Button size="compact-xs" variant="default" onClick={copy} aria-label={`Copy: ${label}`}>
            Copy
          </Button>
        </Group>
      </Group>
      <pre className="code-block">{value}</pre>
    </Stack>
  )
}

export type Copied = { label: string; value: string }

/** A secret that is never shown again, and how to use it. Only its button closes it: everything else asks first. */
export function ShownOnce(props: {
  title: string
  fields: readonly Copied[]
  warning?: string
  /** A further button, before the one that closes. */
  action?: ReactNode
  onClose: () => void
}) {
  const [isAsking, setAsking] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const ask = () => {
    setAsking(true)
    button.current?.focus()
  }
  return (
    <Dialog title={props.title} onClose={ask}>
      <Stack>
        <Alert color="yellow">
          {props.warning ?? 'Copy it now. It is shown only once, and is not stored in plain text.'}
        </Alert>
        {props.fields.map(({ label, value }) => (
          <CopyField key={label} label={label} value={value} />
        ))}
        {isAsking && (
          <Text size="sm" role="alert" fw={500}>
            Have you copied it? It cannot be shown again.
          </Text>
        )}
        <Group justify="end">
          {props.action}
          <Button ref={button} onClick={props.onClose}>
            I have copied it
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
