import { Button, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { MAX_RULES } from '@prepaint/contract/rules/schema.ts'
import { MAX_PATTERNS } from '@prepaint/contract/settings/domain-settings.ts'
import { type DragEvent, type ReactNode, useState } from 'react'
import { CATEGORY_CHOICES } from '../../crawler-categories.ts'
import { capitalised } from '../../format.ts'
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
        newRow={{ json: '{"path":""}' }}
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

type Row = { key: string }

/** Rows that are added, removed and, if they are ordered, moved by buttons or by dragging. */
function Rows(props: {
  form: Form
  list: 'rules' | 'crawlers.added'
  noun: string
  rows: readonly Row[]
  max: number
  isOrdered?: boolean
  newRow: Omit<RuleForm, 'key'> | Omit<CrawlersForm['added'][number], 'key'>
  children: (path: string, at: number) => ReactNode
}) {
  const { form, list, noun, rows, isOrdered = false } = props
  const drag = useDrag(rows, (from, to) => form.reorderListItem(list, { from, to }))
  const move = (from: number, to: number) => form.reorderListItem(list, { from, to })
  return (
    <div className={classes.rows}>
      {rows.map(({ key }, at) => (
        <fieldset
          key={key}
          className={classes.row}
          data-target={drag.target === key || undefined}
          onDragOver={(event) => drag.over(event, key)}
          onDrop={(event) => drag.drop(event, at)}
          aria-label={`${capitalised(noun)} ${at + 1}`}
        >
          {props.children(`${list}.${at}`, at)}
          <Group gap={4} wrap="nowrap" className={classes.actions}>
            {isOrdered && <DragHandle onStart={() => drag.start(key)} onEnd={drag.end} />}
            {isOrdered && (
              <RowAction
                text="↑"
                name={`Move ${noun} ${at + 1} up`}
                isOff={at === 0}
                onClick={() => move(at, at - 1)}
              />
            )}
            {isOrdered && (
              <RowAction
                text="↓"
                name={`Move ${noun} ${at + 1} down`}
                isOff={at === rows.length - 1}
                onClick={() => move(at, at + 1)}
              />
            )}
            <RowAction
              text="Remove"
              name={`Remove ${noun} ${at + 1}`}
              onClick={() => form.removeListItem(list, at)}
            />
          </Group>
        </fieldset>
      ))}
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
    </div>
  )
}

/** `target` is the key of the row under the dragged one, or null if none is dragged. */
function useDrag(rows: readonly Row[], onMove: (from: number, to: number) => void) {
  const [dragged, setDragged] = useState<string | null>(null)
  const [target, setTarget] = useState<string | null>(null)
  const from = rows.findIndex(({ key }) => key === dragged)
  return {
    target: from === -1 ? null : target,
    start(key: string) {
      setTarget(null)
      setDragged(key)
    },
    over(event: DragEvent, key: string) {
      if (from === -1) return
      event.preventDefault()
      setTarget(key)
    },
    drop(event: DragEvent, to: number) {
      event.preventDefault()
      if (from !== -1) onMove(from, to)
    },
    end: () => setDragged(null),
  }
}

function DragHandle({ onStart, onEnd }: { onStart: () => void; onEnd: () => void }) {
  return (
    <span
      draggable
      aria-hidden
      className={classes.handle}
      title="Drag to order"
      onDragStart={(event) => {
        // Firefox drags only what has data.
        event.dataTransfer.setData('text/plain', '')
        onStart()
      }}
      onDragEnd={onEnd}
    >
      ⠿
    </span>
  )
}

function RowAction(props: { text: string; name: string; isOff?: boolean; onClick: () => void }) {
  const { text, name, isOff = false, onClick } = props
  return (
    <Button size="compact-sm" variant="default" disabled={isOff} aria-label={name} onClick={onClick}>
      {text}
    </Button>
  )
}
