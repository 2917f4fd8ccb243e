import { Button, Checkbox, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { type ChangeEvent, useState } from 'react'
import { CATEGORY_CHOICES } from '../../crawler-categories.ts'
import { Note } from '../../parts/page.tsx'
import classes from './rows.module.css'
import { ruleSentence } from './rule-sentence.ts'
import { HOUR_SECONDS } from './setting-fields.ts'
import { fieldsOf, isEmpty, lines, type SettingsForm, valueAt, withField } from './values.ts'

type RuleField = {
  /** Which input shows it. */
  kind: 'choice' | 'categories' | 'switch' | keyof typeof TYPED
  /** Where the JSON of the rule has it. */
  place: string
  label: string
  hint?: string
  choices?: readonly { value: string; label: string }[]
}

/** How a value is shown as text, and what the text means. */
type Typed = { show(value: unknown): string; mean(text: string): unknown; isLong?: boolean }

const TYPED = {
  text: { show: (value) => (typeof value === 'string' ? value : ''), mean: (text) => text.trim() },
  number: amount(1),
  hours: amount(HOUR_SECONDS),
  lines: { show: (value) => (Array.isArray(value) ? value.join('\n') : ''), mean: lines, isLong: true },
  query: pairs('='),
  headers: pairs(': '),
} satisfies Record<string, Typed>

/** A number in multiples of `unit`. What is not a number is kept as it was typed, and the server refuses it. */
function amount(unit: number): Typed {
  return {
    show(value) {
      return typeof value === 'number' ? `${Number((value / unit).toFixed(4))}` : `${value ?? ''}`
    },
    mean(text) {
      const number = text.trim() === '' ? Number.NaN : Number(text)
      return Number.isNaN(number) ? text.trim() : Math.round(number * unit)
    },
  }
}

/** Names and values, a pair on each line. The value may contain the separator. */
function pairs(separator: string): Typed {
  const pairOf = (line: string) => {
    const [name = '', ...rest] = line.split(separator.trim())
    return [name.trim(), rest.join(separator.trim()).trim()]
  }
  return {
    show(value) {
      const entries = Object.entries(value ?? {})
      return entries.map(([name, text]) => `${name}${separator}${text}`).join('\n')
    },
    mean: (text) => Object.fromEntries(lines(text).map(pairOf)),
    isLong: true,
  }
}

const ACTION_CHOICES = [
  { value: '', label: 'the default' },
  { value: 'pass', label: 'the origin' },
  { value: 'render', label: 'rendered pages' },
  { value: 'no-store', label: 'a new render each time' },
  { value: 'not-found', label: '404, not found' },
  { value: 'gone', label: '410, gone' },
]
const VARIANT_CHOICES = [
  { value: '', label: 'desktops and phones' },
  { value: 'desktop', label: 'desktops' },
  { value: 'mobile', label: 'phones' },
]
const BLOCK_HINT =
  'One per line: ads, analytics, chat, fonts, media, consent, or a host such as *.example.com'
const QUERY_HINT = 'One name=value per line; * is any value'

const MAIN_FIELDS: readonly RuleField[] = [
  { kind: 'text', place: 'path', label: 'Path', hint: '/cart*' },
  { kind: 'choice', place: 'action', label: 'Crawlers get', choices: ACTION_CHOICES },
  { kind: 'hours', place: 'fresh_seconds', label: 'Fresh, in hours', hint: 'default' },
]

const FIELDS: readonly RuleField[] = [
  { kind: 'categories', place: 'when.categories', label: 'Only for crawlers of', hint: 'None chosen: all' },
  { kind: 'choice', place: 'when.variant', label: 'Only for', choices: VARIANT_CHOICES },
  { kind: 'query', place: 'when.query', label: 'Only with query parameters', hint: QUERY_HINT },
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
  { kind: 'headers', place: 'change.headers', label: 'Response headers', hint: 'One Name: value per line' },
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
        <Group justify="space-between" align="start" gap="sm">
          <Note size="sm">{ruleSentence(rule, form.values.plain.devices)}</Note>
          <Button
            size="compact-sm"
            variant="default"
            aria-expanded={isOpen}
            onClick={() => setOpened(!isOpened)}
          >
            Conditions, rendering and changes
          </Button>
        </Group>
        {rule === null && <Note size="sm">The fields are shown once the JSON below can be read.</Note>}
        {isOpen && rule !== null && <div className={classes.beside}>{FIELDS.map(input)}</div>}
        {isOpen && (
          <Textarea
            label="The rule as JSON"
            description="The same, and what has no field here: a viewport, meta tags"
            autosize
            minRows={3}
            spellCheck={false}
            classNames={{ input: 'monospace' }}
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
  const { kind, label, hint, choices = [] } = field
  switch (kind) {
    case 'choice':
      return (
        <NativeSelect
          label={label}
          value={typeof value === 'string' ? value : ''}
          data={[...choices]}
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
    case 'categories':
      return (
        <Checkbox.Group
          className={classes.line}
          label={label}
          description={hint}
          value={Array.isArray(value) ? value.map(String) : []}
          onChange={onChange}
        >
          <Group gap="sm" mt={4}>
            {CATEGORY_CHOICES.map((choice) => (
              <Checkbox key={choice.value} {...choice} />
            ))}
          </Group>
        </Checkbox.Group>
      )
    default:
      return <TypedInput type={TYPED[kind]} field={field} value={value} onChange={onChange} />
  }
}

function TypedInput({ type, field: { label, hint }, value, onChange }: FieldInputProps & { type: Typed }) {
  const [typed, setTyped] = useState('')
  const props = {
    label,
    // What was typed stays, such as "1." or an empty line, as long as it means the same.
    value: isSame(type.mean(typed), value) ? typed : type.show(value),
    spellCheck: false,
    onChange(event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) {
      const text = event.currentTarget.value
      setTyped(text)
      onChange(type.mean(text))
    },
  }
  if (type.isLong) return <Textarea description={hint} autosize minRows={1} {...props} />
  return <TextInput placeholder={hint} {...props} />
}

function isSame(value: unknown, other: unknown): boolean {
  if (isEmpty(value) || isEmpty(other)) return isEmpty(value) && isEmpty(other)
  return JSON.stringify(value) === JSON.stringify(other)
}
