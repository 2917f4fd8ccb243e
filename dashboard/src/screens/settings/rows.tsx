import { Button, Group, NativeSelect, NumberInput, Stack, Text, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import classes from './rows.module.css'
import { RULES_MOST, type SettingsForm } from './values.ts'

/** The rules in their order, which can be changed by keyboard as well. */
export function RuleRows({ form }: { form: UseFormReturnType<SettingsForm> }) {
  const { rules } = form.values
  return (
    <Stack gap="sm">
      {rules.length === 0 && (
        <Text size="sm" className="quiet">
          No rule: all paths are treated alike. Add one to keep crawlers out of the cache for /cart*, say.
        </Text>
      )}
      {rules.map(({ key }, at) => (
        <fieldset key={key} className={classes.row} aria-label={`Rule ${at + 1}`}>
          <TextInput
            label="Path"
            placeholder="/cart*"
            spellCheck={false}
            required
            {...form.getInputProps(`rules.${at}.path`)}
          />
          <NativeSelect
            label="Crawlers get"
            data={[
              { value: '', label: 'the usual' },
              { value: 'pass', label: 'the origin' },
              { value: 'render', label: 'finished pages' },
            ]}
            {...form.getInputProps(`rules.${at}.action`)}
          />
          <NumberInput
            label="Fresh, in hours"
            placeholder="as above"
            min={0}
            decimalScale={2}
            {...form.getInputProps(`rules.${at}.freshHours`)}
          />
          <Group gap={4} wrap="nowrap" className={classes.actions}>
            <Button
              size="compact-sm"
              variant="default"
              disabled={at === 0}
              aria-label={`Move rule ${at + 1} up`}
              onClick={() => form.reorderListItem('rules', { from: at, to: at - 1 })}
            >
              ↑
            </Button>
            <Button
              size="compact-sm"
              variant="default"
              disabled={at === rules.length - 1}
              aria-label={`Move rule ${at + 1} down`}
              onClick={() => form.reorderListItem('rules', { from: at, to: at + 1 })}
            >
              ↓
            </Button>
            <Button
              size="compact-sm"
              variant="default"
              aria-label={`Remove rule ${at + 1}`}
              onClick={() => form.removeListItem('rules', at)}
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
          disabled={rules.length >= RULES_MOST}
          onClick={() =>
            form.insertListItem('rules', {
              key: `new-${performance.now()}`,
              path: '',
              action: 'pass',
              freshHours: '',
            })
          }
        >
          Add a rule
        </Button>
      </Group>
    </Stack>
  )
}
