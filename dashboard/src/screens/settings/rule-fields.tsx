import { Button, Checkbox, Group, NativeSelect, NumberInput, Stack, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useState } from 'react'
import { CATEGORY_CHOICES } from '../../crawler-categories.ts'
import { Note } from '../../parts/page.tsx'
import classes from './rows.module.css'
import { DEVICE_CHOICES, ruleSentence } from './rule-sentence.ts'
import { fieldsOf, lines, type SettingsForm, withField } from './values.ts'

/** What the rule does in words, and the fields that have no column of their own. */
export function RuleDetails({ form, at }: { form: UseFormReturnType<SettingsForm>; at: number }) {
  const [isOpened, setOpened] = useState(false)
  const more = `rules.${at}.more`
  const isOpen = isOpened || form.errors[more] !== undefined
  // While a rule is being removed, there is none.
  const rule = form.values.rules[at]
  if (rule === undefined) return null
  return (
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
      {isOpen && <RuleFields more={rule.more} onChange={(changed) => form.setFieldValue(more, changed)} />}
      {isOpen && (
        <Textarea
          label="Further fields, as JSON"
          description="The same, and what has no field here: stale_seconds, keep_seconds, a browser of its own, meta tags"
          autosize
          minRows={3}
          spellCheck={false}
          classNames={{ input: classes.json }}
          {...form.getInputProps(more)}
        />
      )}
    </Stack>
  )
}

/** Inputs for the fields that the JSON of a rule has. */
function RuleFields({ more, onChange }: { more: string; onChange: (more: string) => void }) {
  const fields = fieldsOf(more)
  if (fields === null) return <Note size="sm">The fields are shown once the JSON below can be read.</Note>
  const { when = {}, render = {}, change = {} } = fields
  const set =
    (...place: string[]) =>
    (value: unknown) =>
      onChange(withField(more, place, value))
  const text = (label: string, value: string | undefined, placeholder: string, ...place: string[]) => (
    <TextInput
      label={label}
      value={value ?? ''}
      placeholder={placeholder}
      spellCheck={false}
      onChange={(event) => set(...place)(event.currentTarget.value)}
    />
  )
  return (
    <Stack className="form" gap="sm">
      <Checkbox.Group
        label="Only for crawlers of"
        description="None chosen: all"
        value={when.categories ?? []}
        onChange={set('when', 'categories')}
      >
        <Group gap="sm" mt={4}>
          {CATEGORY_CHOICES.map((choice) => (
            <Checkbox key={choice.value} {...choice} />
          ))}
        </Group>
      </Checkbox.Group>
      <NativeSelect
        label="Only for"
        value={when.variant ?? ''}
        data={[{ value: '', label: 'desktops and phones' }, ...DEVICE_CHOICES]}
        onChange={(event) => set('when', 'variant')(event.currentTarget.value)}
      />
      <LineList
        label="Only with query parameters"
        description="One name=value per line; * is any value"
        value={pairsOf(when.query, '=')}
        onChange={(all) => set('when', 'query')(fieldsFrom(all, '='))}
      />
      <div className={classes.beside}>
        {text('Wait for the element', render.wait_for, '#price', 'render', 'wait_for')}
        <NumberInput
          label="Wait longer, in ms of the page’s clock"
          value={render.wait_ms ?? ''}
          min={0}
          max={30_000}
          allowDecimal={false}
          onChange={(ms) => set('render', 'wait_ms')(ms === 0 ? '' : ms)}
        />
      </div>
      <LineList
        label="Block hosts"
        description="One per line: ads, analytics, chat, fonts, media, consent, or a host such as *.example.com"
        value={render.block ?? []}
        onChange={set('render', 'block')}
      />
      <LineList
        label="Remove elements"
        description="One CSS selector per line"
        value={change.remove ?? []}
        onChange={set('change', 'remove')}
      />
      <Checkbox
        label="Remove known consent banners"
        checked={change.consent === true}
        onChange={(event) => set('change', 'consent')(event.currentTarget.checked)}
      />
      <div className={classes.beside}>
        {text('Title', change.head?.title, 'that of the page', 'change', 'head', 'title')}
        {text('Robots', change.head?.robots, 'noindex', 'change', 'head', 'robots')}
        {text('Canonical', change.head?.canonical, 'self', 'change', 'head', 'canonical')}
      </div>
      <LineList
        label="Response headers"
        description="One Name: value per line"
        value={pairsOf(change.headers, ': ')}
        onChange={(all) => set('change', 'headers')(fieldsFrom(all, ':'))}
      />
    </Stack>
  )
}

function pairsOf(fields: Record<string, string> | undefined, between: string): string[] {
  return Object.entries(fields ?? {}).map(([name, value]) => `${name}${between}${value}`)
}

function fieldsFrom(all: readonly string[], between: string): Record<string, string> {
  return Object.fromEntries(
    all.map((line) => {
      const at = line.indexOf(between)
      return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}

type LineListProps = {
  label: string
  description: string
  value: readonly string[]
  onChange: (value: string[]) => void
}

function LineList({ label, description, value, onChange }: LineListProps) {
  // What was typed, with its empty lines, as long as it means the same.
  const [typed, setTyped] = useState<{ text: string; value: readonly string[] } | null>(null)
  const isTyped = typed !== null && typed.value.join('\n') === value.join('\n')
  return (
    <Textarea
      label={label}
      description={description}
      autosize
      minRows={1}
      spellCheck={false}
      value={isTyped ? typed.text : value.join('\n')}
      onChange={(event) => {
        const text = event.currentTarget.value
        const found = lines(text)
        onChange(found)
        setTyped({ text, value: found })
      }}
    />
  )
}
