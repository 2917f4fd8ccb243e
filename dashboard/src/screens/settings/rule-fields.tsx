import { Button, Checkbox, Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { type ChangeEvent, useState } from 'react'
import { CATEGORY_CHOICES } from '../../crawler-categories.ts'
import { Note } from '../../parts/page.tsx'
import classes from './rows.module.css'
import { ruleSentence } from './rule-sentence.ts'
import { fieldsOf, HOUR_SECONDS, isEmpty, lines, type SettingsForm, valueAt, withField } from './values.ts'

/** `kind` is the input. `place`: in the JSON of the rule. */
type RuleField = {
  kind: 'choice' | 'categories' | 'switch' | keyof typeof TYPED
  place: string
  label: string
  hint?: string
  choices?: readonly { value: string; label: string }[]
}

type Typed = { show(value: unknown): string; mean(text: string): unknown; isLong?: boolean }

/** How a value is shown as text, and what the text means. */
const TYPED = {
  text: { show: (value) => (typeof value === 'string' ? value : ''), mean: (text) => text.trim() },
  number: amount(1),
  hours: amount(HOUR_SECONDS),
  lines: { show: (value) => (Array.isArray(value) ? value.join('\n') : ''), mean: lines, isLong: true },
  query: pairs('='),
  headers: pairs(': '),
} satisfies Record<string, Typed>

/** The server refuses what is no number. */
function amount(unit: number): Typed {
  return {
    show: (value) => (typeof value === 'number' ? `${Number((value / unit).toFixed(4))}` : `${value ?? ''}`),
    mean: (text) =>
      Number.isNaN(Number(text)) || text.trim() === '' ? text.trim() : Math.round(Number(text) * unit),
  }
}

function pairs(between: string): Typed {
  const pair = (line: string) => {
    const [name = '', ...rest] = line.split(between.trim())
    return [name.trim(), rest.join(between.trim()).trim()]
  }
  return {
    show: (value) =>
      Object.entries(value ?? {})
        .map((one) => one.join(between))
        .join('\n'),
    mean: (text) => Object.fromEntries(lines(text).map(pair)),
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
          <Note size="sm">{ruleSentence(rule, form.values.devices)}</Note>
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
      return <TypedInput as={TYPED[kind]} {...{ field, value, onChange }} />
  }
}

function TypedInput({ as, field: { label, hint }, value, onChange }: FieldInputProps & { as: Typed }) {
  const [typed, setTyped] = useState('')
  const asJson = (one: unknown) => (isEmpty(one) ? '' : JSON.stringify(one))
  // What was typed, such as "1." or an empty line, as long as it means the same.
  const isTyped = asJson(as.mean(typed)) === asJson(value)
  const props = {
    label,
    value: isTyped ? typed : as.show(value),
    spellCheck: false,
    onChange({ currentTarget: { value: text } }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) {
      setTyped(text)
      onChange(as.mean(text))
    },
  }
  return as.isLong ? (
    <Textarea description={hint} autosize minRows={1} {...props} />
  ) : (
    <TextInput placeholder={hint} {...props} />
  )
}
