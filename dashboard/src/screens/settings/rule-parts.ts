import type { ProblemPath } from '@prepaint/contract/problem.ts'
import { CATEGORY_CHOICES } from '../../crawler-categories.ts'
import { exactDuration } from '../../format.ts'
import { parseDuration } from './duration-text.ts'
import { BROWSER_DEFAULTS, isEmpty, lines, type Rule, type SettingsForm, valueAt } from './values.ts'

export type RuleField = {
  /** Which input shows it. */
  kind: 'choice' | 'categories' | 'switch' | keyof typeof TYPED
  /** Where the JSON of the rule has it. */
  place: string
  label: string
  hint?: string
  /** What counts without a value: that of the site. */
  usual?: (site: Pick<SettingsForm, 'plain' | 'visitor'>) => string
  choices?: readonly { value: string; label: string }[]
  /** What texts of errors call it, if that is not the label. */
  noun?: string
}

/** How a value is shown as text, and what the text means. */
export type Typed = { show(value: unknown): string; mean(text: string): unknown; isLong?: boolean }

/** What is not a number is kept as it was typed, and the server refuses it. */
const number: Typed = {
  show: (value) => `${value ?? ''}`,
  mean(text) {
    const read = text.trim() === '' ? Number.NaN : Number(text)
    return Number.isNaN(read) ? text.trim() : Math.round(read)
  },
}

/** What cannot be read is kept as it was typed, and the server refuses it. */
const duration: Typed = {
  show: (value) => (typeof value === 'number' ? exactDuration(value) : `${value ?? ''}`),
  mean: (text) => parseDuration(text) ?? text.trim(),
}

export const TYPED = {
  text: { show: (value) => (typeof value === 'string' ? value : ''), mean: (text) => text.trim() },
  number,
  duration,
  lines: { show: (value) => (Array.isArray(value) ? value.join('\n') : ''), mean: lines, isLong: true },
  query: pairs('='),
  headers: pairs(': '),
} satisfies Record<string, Typed>

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
      {
        kind: 'duration',
        place: 'fresh_seconds',
        label: 'Fresh for',
        usual: ({ plain }) => `${plain.fresh_seconds}`,
      },
      {
        kind: 'duration',
        place: 'stale_seconds',
        label: 'Then stale for',
        usual: ({ plain }) => `${plain.stale_seconds}`,
      },
      {
        kind: 'duration',
        place: 'keep_seconds',
        label: 'Kept for',
        usual: ({ plain }) => `${plain.keep_seconds}`,
      },
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
      {
        kind: 'text',
        place: 'render.user_agent',
        label: 'With the user agent',
        usual: ({ visitor }) => visitor.userAgent || BROWSER_DEFAULTS.userAgent,
      },
      {
        kind: 'text',
        place: 'render.locale',
        label: 'With the locale',
        usual: ({ visitor }) => visitor.locale || BROWSER_DEFAULTS.locale,
        noun: 'Locale',
      },
      {
        kind: 'text',
        place: 'render.time_zone',
        label: 'With the time zone',
        usual: ({ visitor }) => visitor.timeZone || BROWSER_DEFAULTS.timeZone,
        noun: 'Time zone',
      },
      {
        kind: 'number',
        place: 'render.viewport.width',
        label: 'Viewport width',
        usual: ({ visitor }) => `${visitor.width || BROWSER_DEFAULTS.width}`,
      },
      {
        kind: 'number',
        place: 'render.viewport.height',
        label: 'Viewport height',
        usual: ({ visitor }) => `${visitor.height || BROWSER_DEFAULTS.height}`,
      },
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
