import { Button, Group, NativeSelect, NumberInput, Stack, Text, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { type DragEvent, type ReactNode, useState } from 'react'
import { CATEGORIES, PURPOSES } from '../../crawler-categories.ts'
import { Note } from '../../parts/page.tsx'
import { MAX_PATTERNS, MAX_RULES } from './problems.ts'
import classes from './rows.module.css'
import { RuleFields } from './rule-fields.tsx'
import { ruleSentence } from './rule-sentence.ts'
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
        newRow={{ path: '', action: 'pass', freshHours: '', more: '' }}
      >
        {(row, at) => (
          <>
            <TextInput
              label="Path"
              placeholder="/cart*"
              spellCheck={false}
              required
              {...form.getInputProps(`${row}.path`)}
            />
            <NativeSelect
              label="Crawlers get"
              data={[
                { value: '', label: 'the default' },
                { value: 'pass', label: 'the origin' },
                { value: 'render', label: 'rendered pages' },
                { value: 'no-store', label: 'a new render each time' },
                { value: 'not-found', label: '404, not found' },
                { value: 'gone', label: '410, gone' },
              ]}
              {...form.getInputProps(`${row}.action`)}
            />
            <NumberInput
              label="Fresh, in hours"
              placeholder="default"
              min={0}
              decimalScale={2}
              {...form.getInputProps(`${row}.freshHours`)}
            />
            <RuleDetails form={form} rule={rules[at]} row={row} />
          </>
        )}
      </Rows>
    </Stack>
  )
}

/** What the rule does in words, and the fields that have no input of their own. */
function RuleDetails({ form, rule, row }: { form: Form; rule: RuleForm | undefined; row: string }) {
  const [isOpen, setOpen] = useState(rule !== undefined && rule.more !== '')
  const error = form.errors[`${row}.more`] !== undefined
  return (
    <Stack gap="xs" className={classes.details}>
      <Group gap="sm" justify="space-between">
        <Note size="sm">{rule === undefined ? '' : ruleSentence(rule, form.values.devices)}</Note>
        <Button
          size="compact-sm"
          variant="default"
          aria-expanded={isOpen || error}
          onClick={() => setOpen(!isOpen)}
        >
          Conditions, rendering and changes
        </Button>
      </Group>
      {(isOpen || error) && (
        <RuleFields more={rule?.more ?? ''} onChange={(more) => form.setFieldValue(`${row}.more`, more)} />
      )}
      {(isOpen || error) && (
        <Textarea
          label="Further fields, as JSON"
          description="The same, and what has no field here: stale_seconds, keep_seconds, a browser of its own, meta tags"
          autosize
          minRows={3}
          spellCheck={false}
          ff="monospace"
          {...form.getInputProps(`${row}.more`)}
        />
      )}
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
              data={[...CATEGORIES, ...PURPOSES].map(({ category, label }) => ({ value: category, label }))}
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
          const from = rows.findIndex((row) => row.key === dragged)
          if (from !== -1) form.reorderListItem(list, { from, to: at })
          setDragged(null)
        }
        return (
          <fieldset
            key={key}
            className={classes.row}
            onDragOver={(event) => dragged !== null && event.preventDefault()}
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
                  onDragStart={() => setDragged(key)}
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
