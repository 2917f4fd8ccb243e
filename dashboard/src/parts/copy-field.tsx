import { Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'

/** Text to be taken elsewhere, with a button that copies it. */
export function CopyField({ label, value }: { label: string; value: string }) {
  const [state, setState] = useState<'' | 'Copied' | 'Select and copy it by hand'>('')
  const copy = async () => {
    // Pages without https have no clipboard.
    try {
      await navigator.clipboard.writeText(value)
      setState('Copied')
    } catch {
      setState('Select and copy it by hand')
    }
  }
  return (
    <Stack gap={6}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={500}>
          {label}
        </Text>
        <Group gap="xs">
          <Text size="xs" className="quiet" role="status">
            {state}
          </Text>
          <Button size="compact-xs" variant="default" onClick={copy} aria-label={`Copy: ${label}`}>
            Copy
          </Button>
        </Group>
      </Group>
      <pre className="code-block">{value}</pre>
    </Stack>
  )
}
