import { Button, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { MAX_RULES } from '@prepaint/contract/rules/schema.ts'
import { MAX_PATTERNS } from '@prepaint/contract/settings/domain-settings.ts'
import { type DragEvent, type ReactNode, useState } from 'react'
import { CATEGORY_CHOICES } from '../../crawler-categories.ts'
import { Note } from '../../parts/page.tsx'
import classes from './rows.module.css'
import { RuleFields } from './rule-fields.tsx'
import type { CrawlersForm, RuleForm, SettingsForm } from './values.ts'

type Form = UseFormReturnType<SettingsForm>

export function RuleRows({ form }: { form: Form }) {
  const { rules } = form.values
  return (
    <Stack gap="sm">
      {rules.length === 0 && (
        <Note size="sm">
          No rules: all paths are treated the same. For example, add a rule to pass /cart* to the origin.
        </Note>
      )}
      <Rows
        form={form}
        list="rules"
        noun="rule"
        rows={rules}
        max={MAX_RULES}
        isOrdered
        newRow={{ json: '{"path":"","action":"pass"}' }}
      >
        {(_row, at) => <RuleFields form={form} at={at} />}
      </Rows>
    </Stack>
  )
}

export function CrawlerRows({ form }: { form: Form }) {
  return (
    <Stack gap="sm">
      <Text size="sm" fw={500}>
        Additional crawlers
      </Text>
      <Rows
        form={form}
        list="crawlers.added"
        noun="crawler"
        rows={form.values.crawlers.added}
        max={MAX_PATTERNS}
        newRow={{ pattern: '', category: 'other' }}
      >
        {(row) => (
          <>
            <TextInput
              label="User agent contains"
              placeholder="OurMonitor"
              spellCheck={false}
              required
              {...form.getInputProps(`${row}.pattern`)}
            />
            <NativeSelect
              label="Category"
              data={CATEGORY_CHOICES}
              {...form.getInputProps(`${row}.category`)}
            />
          </>
        )}
      </Rows>
      <Textarea
        className="form"
        label="Not crawlers"
        description="Parts of user agents, one per line. They get the origin, like people."
        autosize
        minRows={2}
        spellCheck={false}
        {...form.getInputProps('crawlers.removed')}
      />
    </Stack>
  )
}

function Rows(props: {
  form: Form
  list: 'rules' | 'crawlers.added'
  noun: string
  rows: readonly { key: string }[]
  max: number
  isOrdered?: boolean
  newRow: Omit<RuleForm, 'key'> | Omit<CrawlersForm['added'][number], 'key'>
  children: (row: string, at: number) => ReactNode
}) {
  const { form, list, noun, rows, isOrdered = false } = props
  const [dragged, setDragged] = useState<string | null>(null)
  const [target, setTarget] = useState<string | null>(null)
  const from = rows.findIndex(({ key }) => key === dragged)
  return (
    <>
      {rows.map(({ key }, at) => {
        const action = (verb: string, text: string, run: () => void, isOff = false) => (
          <Button
            size="compact-sm"
            variant="default"
            disabled={isOff}
            aria-label={verb.replace('%', `${noun} ${at + 1}`)}
            onClick={run}
          >
            {text}
          </Button>
        )
        const moveTo = (to: number) => () => form.reorderListItem(list, { from: at, to })
        const drop = (event: DragEvent) => {
          event.preventDefault()
          if (from !== -1) form.reorderListItem(list, { from, to: at })
        }
        const dragOver = (event: DragEvent) => {
          if (from === -1) return
          event.preventDefault()
          setTarget(key)
        }
        return (
          <fieldset
            key={key}
            className={classes.row}
            data-target={(from !== -1 && target === key) || undefined}
            onDragOver={dragOver}
            onDrop={drop}
            aria-label={`${noun.charAt(0).toUpperCase()}${noun.slice(1)} ${at + 1}`}
          >
            {props.children(`${list}.${at}`, at)}
            <Group gap={4} wrap="nowrap" className={classes.actions}>
              {isOrdered && (
                <span
                  draggable
                  aria-hidden
                  className={classes.handle}
                  title="Drag to order"
                  onDragStart={(event) => {
                    // Firefox drags only what has data.
                    event.dataTransfer.setData('text/plain', '')
                    setTarget(null)
                    setDragged(key)
                  }}
                  onDragEnd={() => setDragged(null)}
                >
                  ⠿
                </span>
              )}
              {isOrdered && action('Move % up', '↑', moveTo(at - 1), at === 0)}
              {isOrdered && action('Move % down', '↓', moveTo(at + 1), at === rows.length - 1)}
              {action('Remove %', 'Remove', () => form.removeListItem(list, at))}
            </Group>
          </fieldset>
        )
      })}
      <Group>
        <Button
          variant="default"
          size="xs"
          disabled={rows.length >= props.max}
          onClick={() => form.insertListItem(list, { key: `new-${performance.now()}`, ...props.newRow })}
        >
          Add a {noun}
        </Button>
      </Group>
    </>
  )
}
