import { Checkbox, Group, NativeSelect, NumberInput, Stack, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { CATEGORIES, PURPOSES } from '../../crawler-categories.ts'
import { Note } from '../../parts/page.tsx'
import { fieldsOf, lines, withField } from './values.ts'

/** Inputs for the fields that the JSON of a rule has. */
export function RuleFields({ more, onChange }: { more: string; onChange: (more: string) => void }) {
  const fields = fieldsOf(more)
  if (fields === null) return <Note size="sm">The fields are shown once the JSON below can be read.</Note>
  const { when = {}, render = {}, change = {} } = fields
  const set = (...place: string[]) => ({
    to: (value: unknown) => onChange(withField(more, place, value)),
  })
  const text = (label: string, value: string | undefined, placeholder: string, ...place: string[]) => (
    <TextInput
      label={label}
      value={value ?? ''}
      placeholder={placeholder}
      spellCheck={false}
      onChange={(event) => set(...place).to(event.currentTarget.value)}
    />
  )
  const categories = when.categories ?? []
  return (
    <Stack className="form" gap="sm">
      <Checkbox.Group
        label="Only for crawlers of"
        description="None chosen: all"
        value={categories}
        onChange={(chosen) => set('when', 'categories').to(chosen)}
      >
        <Group gap="sm" mt={4}>
          {[...CATEGORIES, ...PURPOSES].map(({ category, label }) => (
            <Checkbox key={category} value={category} label={label} />
          ))}
        </Group>
      </Checkbox.Group>
      <NativeSelect
        label="Only for"
        value={when.variant ?? ''}
        data={[
          { value: '', label: 'desktops and phones' },
          { value: 'desktop', label: 'desktops' },
          { value: 'mobile', label: 'phones' },
        ]}
        onChange={(event) => set('when', 'variant').to(event.currentTarget.value)}
      />
      <LineList
        label="Only with query parameters"
        description="One name=value per line; * is any value"
        value={pairsOf(when.query, '=')}
        onChange={(all) => set('when', 'query').to(fieldsFrom(all, '='))}
      />
      <Group grow align="start">
        {text('Wait for the element', render.wait_for, '#price', 'render', 'wait_for')}
        <NumberInput
          label="Wait longer, in ms of the page’s clock"
          value={render.wait_ms ?? ''}
          min={0}
          max={30_000}
          allowDecimal={false}
          onChange={(ms) => set('render', 'wait_ms').to(ms === 0 ? '' : ms)}
        />
      </Group>
      <LineList
        label="Block hosts"
        description="One per line: ads, analytics, chat, fonts, media, consent, or a host such as *.example.com"
        value={render.block ?? []}
        onChange={(all) => set('render', 'block').to(all)}
      />
      <LineList
        label="Remove elements"
        description="One CSS selector per line"
        value={change.remove ?? []}
        onChange={(all) => set('change', 'remove').to(all)}
      />
      <Checkbox
        label="Remove known consent banners"
        checked={change.consent === true}
        onChange={(event) => set('change', 'consent').to(event.currentTarget.checked)}
      />
      <Group grow align="start">
        {text('Title', change.head?.title, 'that of the page', 'change', 'head', 'title')}
        {text('Robots', change.head?.robots, 'noindex', 'change', 'head', 'robots')}
        {text('Canonical', change.head?.canonical, 'self', 'change', 'head', 'canonical')}
      </Group>
      <LineList
        label="Response headers"
        description="One Name: value per line"
        value={pairsOf(change.headers, ': ')}
        onChange={(all) => set('change', 'headers').to(fieldsFrom(all, ':'))}
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

function LineList(props: {
  label: string
  description: string
  value: readonly string[]
  onChange: (value: string[]) => void
}) {
  const { label, description, value, onChange } = props
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
