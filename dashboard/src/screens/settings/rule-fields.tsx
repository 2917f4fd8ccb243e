import { Button, Checkbox, Group, NativeSelect, NumberInput, Stack, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useState } from 'react'
import { CATEGORY_CHOICES } from '../../crawler-categories.ts'
import { Note } from '../../parts/page.tsx'
import classes from './rows.module.css'
import { DEVICE_CHOICES, ruleSentence } from './rule-sentence.ts'
import { fieldsOf, HOUR_SECONDS, lines, type SettingsForm, valueAt, withField } from './values.ts'

/** `kind` is the input; pairs are lines with `between` inside. `place`: in the JSON of the rule. */
type RuleField = {
  kind: 'text' | 'number' | 'hours' | 'choice' | 'kinds' | 'lines' | 'pairs' | 'switch'
  place: string
  label: string
  hint?: string
  between?: string
  choices?: readonly { value: string; label: string }[]
}

const ACTION_CHOICES = [
  { value: '', label: 'the default' },
  { value: 'pass', label: 'the origin' },
  { value: 'render', label: 'rendered pages' },
  { value: 'no-store', label: 'a new render each time' },
  { value: 'not-found', label: '404, not found' },
  { value: 'gone', label: '410, gone' },
]
const VARIANT_CHOICES = [{ value: '', label: 'desktops and phones' }, ...DEVICE_CHOICES]
const BLOCK_HINT =
  'One per line: ads, analytics, chat, fonts, media, consent, or a host such as *.example.com'

const MAIN_FIELDS: readonly RuleField[] = [
  { kind: 'text', place: 'path', label: 'Path', hint: '/cart*' },
  { kind: 'choice', place: 'action', label: 'Crawlers get', choices: ACTION_CHOICES },
  { kind: 'hours', place: 'fresh_seconds', label: 'Fresh, in hours', hint: 'default' },
]

const FIELDS: readonly RuleField[] = [
  { kind: 'kinds', place: 'when.categories', label: 'Only for crawlers of', hint: 'None chosen: all' },
  { kind: 'choice', place: 'when.variant', label: 'Only for', choices: VARIANT_CHOICES },
  {
    kind: 'pairs',
    place: 'when.query',
    label: 'Only with query parameters',
    between: '=',
    hint: 'One name=value per line; * is any value',
  },
  { kind: 'hours', place: 'stale_seconds', label: 'Then stale, in hours', hint: 'default' },
  { kind: 'hours', place: 'keep_seconds', label: 'Kept, in hours', hint: 'default' },
  { kind: 'text', place: 'render.wait_for', label: 'Wait for the element', hint: '#price' },
  { kind: 'number', place: 'render.wait_ms', label: 'Wait longer, in ms of the page’s clock', hint: '0' },
  { kind: 'lines', place: 'render.block', label: 'Block hosts', hint: BLOCK_HINT },
  { kind: 'text', place: 'render.user_agent', label: 'With the user agent', hint: 'default' },
  { kind: 'text', place: 'render.locale', label: 'With the locale', hint: 'default' },
  { kind: 'text', place: 'render.time_zone', label: 'With the time zone', hint: 'default' },
  { kind: 'lines', place: 'change.remove', label: 'Remove elements', hint: 'One CSS selector per line' },
  { kind: 'switch', place: 'change.consent', label: 'Remove known consent banners' },
  { kind: 'text', place: 'change.head.title', label: 'Title', hint: 'that of the page' },
  { kind: 'text', place: 'change.head.robots', label: 'Robots', hint: 'noindex' },
  { kind: 'text', place: 'change.head.canonical', label: 'Canonical', hint: 'self' },
  {
    kind: 'pairs',
    place: 'change.headers',
    label: 'Response headers',
    between: ': ',
    hint: 'One Name: value per line',
  },
]

/** The inputs of a rule, what it does in words, and its JSON, which all of them edit. */
export function RuleFields({ form, at }: { form: UseFormReturnType<SettingsForm>; at: number }) {
  const [isOpened, setOpened] = useState(false)
  const place = `rules.${at}.json`
  const isOpen = isOpened || form.errors[place] !== undefined
  const json = form.values.rules[at]?.json
  // While a rule is being removed, there is none.
  if (json === undefined) return null
  const rule = fieldsOf(json)
  const input = (field: RuleField) => (
    <FieldInput
      key={field.place}
      field={field}
      value={valueAt(rule, field.place)}
      onChange={(value) => form.setFieldValue(place, withField(json, field.place, value))}
    />
  )
  return (
    <>
      {rule !== null && MAIN_FIELDS.map(input)}
      <Stack gap="xs" className={classes.details}>
        <div className={classes.sentence}>
          <Note size="sm">{ruleSentence(rule, form.values.devices)}</Note>
          <Button
            size="compact-sm"
            variant="default"
            aria-expanded={isOpen}
            onClick={() => setOpened(!isOpened)}
          >
            Conditions, rendering and changes
          </Button>
        </div>
        {rule === null && <Note size="sm">The fields are shown once the JSON below can be read.</Note>}
        {isOpen && rule !== null && <div className={classes.beside}>{FIELDS.map(input)}</div>}
        {isOpen && (
          <Textarea
            label="The rule as JSON"
            description="The same, and what has no field here: a viewport, meta tags"
            autosize
            minRows={3}
            spellCheck={false}
            classNames={{ input: classes.json }}
            {...form.getInputProps(place)}
          />
        )}
      </Stack>
    </>
  )
}

type FieldInputProps = { field: RuleField; value: unknown; onChange: (value: unknown) => void }

/** A value of another kind is shown as none. */
function FieldInput({ field, value, onChange }: FieldInputProps) {
  const { kind, label, hint, between = '' } = field
  const text = typeof value === 'string' ? value : ''
  const list = Array.isArray(value) ? value.map(String) : []
  switch (kind) {
    case 'text':
      return (
        <TextInput
          label={label}
          value={text}
          placeholder={hint}
          spellCheck={false}
          onChange={(event) => onChange(event.currentTarget.value)}
          onBlur={() => text !== text.trim() && onChange(text.trim())}
        />
      )
    case 'number':
    case 'hours':
      return (
        <Amount
          label={label}
          hint={hint}
          value={value}
          unit={kind === 'hours' ? HOUR_SECONDS : 1}
          onChange={onChange}
        />
      )
    case 'choice':
      return (
        <NativeSelect
          label={label}
          value={text}
          data={[...(field.choices ?? [])]}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )
    case 'switch':
      return (
        <Checkbox
          label={label}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      )
    case 'kinds':
      return (
        <Checkbox.Group
          className={classes.line}
          label={label}
          description={hint}
          value={list}
          onChange={onChange}
        >
          <Group gap="sm" mt={4}>
            {CATEGORY_CHOICES.map((choice) => (
              <Checkbox key={choice.value} {...choice} />
            ))}
          </Group>
        </Checkbox.Group>
      )
    case 'lines':
      return <LineList label={label} hint={hint} value={list} onChange={onChange} />
    case 'pairs': {
      const pair = (line: string) => pairOf(line, between.trim())
      return (
        <LineList
          label={label}
          hint={hint}
          value={Object.entries(value ?? {}).map((one) => one.join(between))}
          meant={(line) => pair(line).join(between)}
          onChange={(all) => onChange(Object.fromEntries(all.map(pair)))}
        />
      )
    }
  }
}

type AmountProps = {
  label: string
  hint: string | undefined
  value: unknown
  unit: number
  onChange: (value: number | undefined) => void
}

/** `value` is in the rule's own unit; fields count in `unit`. */
function Amount({ label, hint, value, unit, onChange }: AmountProps) {
  // What was typed, such as "1.", as long as it means the same.
  const [typed, setTyped] = useState<number | string>('')
  const meaning = (text: number | string) =>
    text === '' || Number.isNaN(Number(text)) ? undefined : Math.round(Number(text) * unit)
  return (
    <NumberInput
      label={label}
      placeholder={hint}
      value={meaning(typed) === value ? typed : typeof value === 'number' ? value / unit : ''}
      min={0}
      allowNegative={false}
      decimalScale={unit === 1 ? 0 : 2}
      onChange={(next) => {
        setTyped(next)
        onChange(meaning(next))
      }}
    />
  )
}

function pairOf(line: string, between: string): [name: string, value: string] {
  const [name = '', ...rest] = line.split(between)
  return [name.trim(), rest.join(between).trim()]
}

type LineListProps = {
  label: string
  hint: string | undefined
  value: readonly string[]
  /** How a line comes back. */
  meant?: (line: string) => string
  onChange: (value: string[]) => void
}

function LineList({ label, hint, value, meant = (line) => line, onChange }: LineListProps) {
  // What was typed, with its empty lines, as long as it means the same.
  const [typed, setTyped] = useState<{ text: string; value: readonly string[] } | null>(null)
  const isTyped = typed !== null && typed.value.join('\n') === value.join('\n')
  return (
    <Textarea
      label={label}
      description={hint}
      autosize
      minRows={1}
      spellCheck={false}
      value={isTyped ? typed.text : value.join('\n')}
      onChange={(event) => {
        const text = event.currentTarget.value
        onChange(lines(text))
        setTyped({ text, value: lines(text).map(meant) })
      }}
    />
  )
}
