import { Button, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'

import { PATTERNS_MOST } from './crawlers-form.ts'
import classes from './rows.module.css'
import { CATEGORIES, type SettingsForm } from './values.ts'

/** Crawlers that only this domain has, and those that are none here. */
export function CrawlerRows({ form }: { form: UseFormReturnType<SettingsForm> }) {
  const { added } = form.values.crawlers
  return (
    <Stack gap="sm">
      <Text size="sm" fw={500}>
        Also a crawler here
      </Text>
      {added.map(({ key }, at) => (
        <fieldset key={key} className={classes.row} aria-label={`Crawler ${at + 1}`}>
          <TextInput
            label="User agent contains"
            placeholder="OurMonitor"
            spellCheck={false}
            required
            {...form.getInputProps(`crawlers.added.${at}.pattern`)}
          />
          <NativeSelect
            label="Kind"
            data={CATEGORIES.map(({ category, label }) => ({ value: category, label }))}
            {...form.getInputProps(`crawlers.added.${at}.category`)}
          />
          <Group className={classes.actions}>
            <Button
              size="compact-sm"
              variant="default"
              aria-label={`Remove crawler ${at + 1}`}
              onClick={() => form.removeListItem('crawlers.added', at)}
            >
              Remove
            </Button>
          </Group>
        </fieldset>
      ))}
      <Group>
        <Button
          variant="default"
          size="xs"
          disabled={added.length >= PATTERNS_MOST}
          onClick={() =>
            form.insertListItem('crawlers.added', {
              key: `new-${performance.now()}`,
              pattern: '',
              category: 'other',
            })
          }
        >
          Add a crawler
        </Button>
      </Group>
      <Textarea
        className="form"
        label="Never a crawler here"
        description="Text of user agents, one in each line; they get what people get"
        autosize
        minRows={2}
        spellCheck={false}
        {...form.getInputProps('crawlers.removed')}
      />
    </Stack>
  )
}
