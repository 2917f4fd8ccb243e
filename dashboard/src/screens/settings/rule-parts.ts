import type { ProblemPath } from '@prepaint/contract/problem.ts'
import { CATEGORY_CHOICES } from '../../crawler-categories.ts'
import { HOUR_SECONDS } from './setting-fields.ts'
import { isEmpty, lines, type Rule, valueAt } from './values.ts'

export type RuleField = {
  /** Which input shows it. */
  kind: 'choice' | 'categories' | 'switch' | keyof typeof TYPED
  /** Where the JSON of the rule has it. */
  place: string
  label: string
  hint?: string
  choices?: readonly { value: string; label: string }[]
  /** What texts of errors call it, if that is not the label. */
  noun?: string
}

/** How a value is shown as text, and what the text means. */
export type Typed = { show(value: unknown): string; mean(text: string): unknown; isLong?: boolean }

export const TYPED = {
  text: { show: (value) => (typeof value === 'string' ? value : ''), mean: (text) => text.trim() },
  number: amount(1),
  hours: hours(),
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

/** Hours, or minutes such as `10 min`. Minutes that are no round part of an hour are shown as minutes. */
function hours(): Typed {
  const plain = amount(HOUR_SECONDS)
  return {
    show(value) {
      const isInMinutes = typeof value === 'number' && value % 60 === 0 && value % 900 !== 0
      return isInMinutes ? `${value / 60} min` : plain.show(value)
    },
    mean(text) {
      const minutes = /^(\d+(?:\.\d+)?)\s*min(?:utes?)?$/.exec(text.trim())?.[1]
      return minutes === undefined ? plain.mean(text) : Math.round(Number(minutes) * 60)
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
  { value: '', label: 'the same as without this rule' },
  { value: 'pass', label: 'the origin' },
  { value: 'render', label: 'rendered pages' },
  { value: 'no-store', label: 'a new render each time' },
  { value: 'not-found', label: '404, not found' },
  { value: 'gone', label: '410, gone' },
]
export const ACTION_WORDS = Object.fromEntries(
  ACTION_CHOICES.map(({ value, label }) => [value, label]),
) as Record<NonNullable<Rule['action']>, string>

const VARIANT_CHOICES = [
  { value: '', label: 'desktops and phones' },
  { value: 'desktop', label: 'desktops' },
  { value: 'mobile', label: 'phones' },
]
const BLOCK_HINT =
  'One per line: ads, analytics, chat, fonts, media, consent, or a host such as *.example.com'
const QUERY_HINT = 'One name=value per line; * is any value'

/** Always shown. */
export const MAIN_FIELDS: readonly RuleField[] = [
  { kind: 'text', place: 'path', label: 'Path', hint: '/cart*' },
  { kind: 'choice', place: 'action', label: 'Crawlers get', choices: ACTION_CHOICES, noun: 'The rule' },
]

export type RuleGroup = { title: string; fields: readonly RuleField[] }

/** Folded, unless they have values. */
export const RULE_GROUPS: readonly RuleGroup[] = [
  {
    title: 'Applies to',
    fields: [
      {
        kind: 'categories',
        place: 'when.categories',
        label: 'Only for crawlers of',
        hint: 'None chosen: all',
        choices: CATEGORY_CHOICES,
      },
      { kind: 'choice', place: 'when.variant', label: 'Only for', choices: VARIANT_CHOICES },
      { kind: 'query', place: 'when.query', label: 'Only with query parameters', hint: QUERY_HINT },
    ],
  },
  {
    title: 'Freshness',
    fields: [
      { kind: 'hours', place: 'fresh_seconds', label: 'Fresh, in hours', hint: 'default, or 10 min' },
      { kind: 'hours', place: 'stale_seconds', label: 'Then stale, in hours', hint: 'default, or 10 min' },
      { kind: 'hours', place: 'keep_seconds', label: 'Kept, in hours', hint: 'default, or 10 min' },
    ],
  },
  {
    title: 'Rendering',
    fields: [
      {
        kind: 'text',
        place: 'render.wait_for',
        label: 'Wait for the element',
        hint: '#price',
        noun: 'Selector',
      },
      {
        kind: 'number',
        place: 'render.wait_ms',
        label: 'Wait longer, in ms of the page’s clock',
        hint: '0',
        noun: 'The time',
      },
      { kind: 'lines', place: 'render.block', label: 'Block hosts', hint: BLOCK_HINT, noun: 'Host' },
      { kind: 'text', place: 'render.user_agent', label: 'With the user agent', hint: 'default' },
      { kind: 'text', place: 'render.locale', label: 'With the locale', hint: 'default', noun: 'Locale' },
      {
        kind: 'text',
        place: 'render.time_zone',
        label: 'With the time zone',
        hint: 'default',
        noun: 'Time zone',
      },
      { kind: 'number', place: 'render.viewport.width', label: 'Viewport width', hint: 'default' },
      { kind: 'number', place: 'render.viewport.height', label: 'Viewport height', hint: 'default' },
    ],
  },
  {
    title: 'Changes to the page',
    fields: [
      {
        kind: 'lines',
        place: 'change.remove',
        label: 'Remove elements',
        hint: 'One CSS selector per line',
        noun: 'Selector',
      },
      { kind: 'switch', place: 'change.consent', label: 'Remove known consent banners' },
      { kind: 'text', place: 'change.head.title', label: 'Title', hint: 'that of the page' },
      { kind: 'text', place: 'change.head.robots', label: 'Robots', hint: 'noindex' },
      { kind: 'text', place: 'change.head.canonical', label: 'Canonical', hint: 'self' },
    ],
  },
  {
    title: 'Headers',
    fields: [
      {
        kind: 'headers',
        place: 'change.headers',
        label: 'Response headers',
        hint: 'One Name: value per line',
        noun: 'Header',
      },
    ],
  },
]

const ALL_FIELDS = [...MAIN_FIELDS, ...RULE_GROUPS.flatMap(({ fields }) => fields)]

/** Fields of these groups have no effect: the origin's answer is neither kept nor changed, `no-store` keeps nothing. */
const IDLE_GROUPS: Partial<Record<NonNullable<Rule['action']>, readonly string[]>> = {
  pass: ['Freshness', 'Rendering', 'Changes to the page', 'Headers'],
  'no-store': ['Freshness'],
}

export function isIdle({ title }: RuleGroup, { action }: Partial<Rule>): boolean {
  return action !== undefined && IDLE_GROUPS[action]?.includes(title) === true
}

export function countValues({ fields }: RuleGroup, rule: Partial<Rule> | null): number {
  return fields.filter(({ place }) => !isEmpty(valueAt(rule, place))).length
}

/** Returns the field that shows a place within a rule, and the entry of it that is meant. Null: no field shows it. */
export function ruleFieldAt(
  within: ProblemPath,
): { field: RuleField; entry: ProblemPath[number] | null } | null {
  // A rule without any effect is mended by its action.
  if (within.length === 0) return { field: MAIN_FIELDS[1]!, entry: null }
  for (let length = within.length; length > 0; length--) {
    const place = within.slice(0, length).join('.')
    const field = ALL_FIELDS.find((shown) => shown.place === place)
    if (field !== undefined) return { field, entry: within[length] ?? null }
  }
  return null
}
