import { Group, NumberInput, Stack, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'

import type { SettingsForm } from './values.ts'

/** What a site sees of whoever renders it. */
export function VisitorFields({ form }: { form: UseFormReturnType<SettingsForm> }) {
  return (
    <Stack className="form">
      <TextInput
        label="User agent"
        placeholder="that of a normal Chromium, with Prepaint at its end"
        spellCheck={false}
        {...form.getInputProps('visitor.userAgent')}
      />
      <Group grow align="start">
        <NumberInput
          label="Viewport width"
          placeholder="1280"
          min={200}
          max={4_000}
          {...form.getInputProps('visitor.width')}
        />
        <NumberInput
          label="Viewport height"
          placeholder="1024"
          min={200}
          max={4_000}
          {...form.getInputProps('visitor.height')}
        />
      </Group>
      <Group grow align="start">
        <TextInput
          label="Locale"
          placeholder="en-US"
          spellCheck={false}
          {...form.getInputProps('visitor.locale')}
        />
        <TextInput
          label="Time zone"
          placeholder="UTC"
          spellCheck={false}
          {...form.getInputProps('visitor.timeZone')}
        />
      </Group>
    </Stack>
  )
}
