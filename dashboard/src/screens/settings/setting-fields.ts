import type { DomainWithSettings, Settings } from '../../api/types.ts'
import { count } from '../../format.ts'

export const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400

/** What a description may depend on: the domain, and what the input has now. */
type Shown = { domain: DomainWithSettings; value: PlainValue }

type FieldWords = {
  section: 'site' | 'freshness' | 'phones' | 'storing'
  label: string
  description?: string | ((shown: Shown) => string)
}

/** `unit` is what 1 in the input means in the setting: 3,600 for hours of a setting in seconds. */
export type NumberField = FieldWords & { kind: 'number'; unit: number }

/** `on` and `off` are the two values of the setting. */
export type SwitchField<Value> = FieldWords & { kind: 'switch'; on: Value; off: Value }

export type ChoiceField<Value> = FieldWords & {
  kind: 'choice'
  choices: readonly { value: Value; label: string }[]
}

/** `parts`: several inputs of the settings screen show it. `elsewhere`: other screens show it, or only the API. */
type Field<Value> =
  | ([Value] extends [number] ? NumberField : never)
  | ([Value] extends [string] ? ChoiceField<Value> : never)
  | SwitchField<Value>
  | { kind: 'parts' | 'elsewhere' }

/**
 * All settings of a domain, and how the settings screen shows them. A new setting of the contract does not compile
 * without its place here. A setting with an input of its own needs nothing else.
 */
const FIELDS = {
  https_redirect: {
    kind: 'switch',
    section: 'site',
    label: 'Redirect HTTP to HTTPS',
    description: 'While a certificate is in use',
    on: true,
    off: false,
  },
  fresh_seconds: {
    kind: 'number',
    section: 'freshness',
    label: 'Fresh, in hours',
    description: 'Served from the cache',
    unit: HOUR_SECONDS,
  },
  stale_seconds: {
    kind: 'number',
    section: 'freshness',
    label: 'Then stale, in hours',
    description: 'Served from the cache while it is rendered again',
    unit: HOUR_SECONDS,
  },
  keep_seconds: {
    kind: 'number',
    section: 'freshness',
    label: 'Kept, in days',
    description: 'Served if the origin or the render fails',
    unit: DAY_SECONDS,
  },
  crawler_wait_seconds: {
    kind: 'number',
    section: 'freshness',
    label: 'Longest wait of a crawler, in seconds',
    description:
      'For a render and then for your server. After that, a crawler gets the last good copy or an error 504.',
    unit: 1,
  },
  refresh_on_deploy: {
    kind: 'switch',
    section: 'freshness',
    label: 'A deploy makes pages stale',
    description:
      'When several pages load new script bundles, older pages become stale. They are still served, and are rendered again on the next crawler visit, which counts against the month.',
    on: true,
    off: false,
  },
  refresh_ahead_percent: {
    kind: 'number',
    section: 'freshness',
    label: "Refresh stale pages early, in percent of the month's renders",
    description: ({ domain, value }) =>
      `Before the next crawler visit, recently visited pages first. At most ${count(aheadPerDay(domain, Number(value)))} renders a day; 0 turns it off.`,
    unit: 1,
  },
  way: {
    kind: 'choice',
    section: 'site',
    label: 'How crawlers come',
    description: 'With a front of its own, the DNS of the site stays as it is.',
    choices: [
      { value: 'dns', label: 'The DNS leads to Prepaint' },
      { value: 'middleware', label: "The site's own web server, CDN or application sends them" },
    ],
  },
  devices: {
    kind: 'choice',
    section: 'phones',
    label: 'Phones get',
    choices: [
      { value: 'one', label: 'The same pages as desktops' },
      { value: 'both', label: 'Pages of their own, always' },
      { value: 'auto', label: 'Pages of their own where they differ' },
    ],
  },
  origin_cache_control: {
    kind: 'switch',
    section: 'storing',
    label: 'Respect the Cache-Control header of the origin',
    description: 'Pages marked no-store or private are not cached',
    on: 'respect',
    off: 'ignore',
  },
  soft_404: {
    kind: 'choice',
    section: 'storing',
    label: 'Pages with status 200 that look like “not found”',
    description: 'Search engines drop a page that is answered with 404.',
    choices: [
      { value: 'answer', label: 'Answer 404' },
      { value: 'refuse', label: 'Let the site answer' },
      { value: 'store', label: 'Store as a page' },
    ],
  },
  retry_seconds: {
    kind: 'number',
    section: 'storing',
    label: 'Refused pages are rendered again after, in minutes',
    description:
      'Until then, crawlers get the site’s own answer to pages such as blank ones. Twice as long each time, up to a day; 0 renders at each visit.',
    unit: 60,
  },
  query: { kind: 'parts' },
  rules: { kind: 'parts' },
  crawlers: { kind: 'parts' },
  render: { kind: 'parts' },
  categories: { kind: 'elsewhere' },
  preferences: { kind: 'elsewhere' },
  terms_url: { kind: 'elsewhere' },
  robots: { kind: 'elsewhere' },
  sitemap: { kind: 'elsewhere' },
  indexnow: { kind: 'elsewhere' },
  origin_headers: { kind: 'elsewhere' },
  markdown: { kind: 'elsewhere' },
  cards: { kind: 'elsewhere' },
} as const satisfies { [Name in keyof Settings]: Field<Settings[Name]> }

type Fields = typeof FIELDS

/** The settings that have an input of their own. */
export type PlainSetting = {
  [Name in keyof Fields]: Fields[Name] extends { section: string } ? Name : never
}[keyof Fields]

export type PlainField = NumberField | SwitchField<unknown> | ChoiceField<string>

/** What an input has. A number is a string while its input is empty or half typed. */
export type PlainValue = number | string | boolean

export type PlainValues = Record<PlainSetting, PlainValue>

export type Section = FieldWords['section']

export const PLAIN_FIELDS: readonly { name: PlainSetting; field: PlainField }[] = Object.entries(
  FIELDS,
).flatMap(([name, field]) => ('section' in field ? [{ name: name as PlainSetting, field }] : []))

/** Returns null for a setting without an input of its own. */
export function plainField(name: string): PlainField | null {
  return PLAIN_FIELDS.find((plain) => plain.name === name)?.field ?? null
}

export function plainValues(settings: Settings): PlainValues {
  const values = PLAIN_FIELDS.map(({ name, field }) => [name, inputValue(field, settings[name])])
  return Object.fromEntries(values) as PlainValues
}

export function plainSettings(values: PlainValues): Pick<Settings, PlainSetting> {
  const settings = PLAIN_FIELDS.map(({ name, field }) => [name, settingValue(field, values[name])])
  return Object.fromEntries(settings) as Pick<Settings, PlainSetting>
}

function inputValue(field: PlainField, setting: unknown): PlainValue {
  switch (field.kind) {
    case 'number':
      return Number(setting) / field.unit
    case 'switch':
      return setting === field.on
    case 'choice':
      return String(setting)
  }
}

function settingValue(field: PlainField, value: PlainValue): unknown {
  switch (field.kind) {
    case 'number':
      // 1.1 hours are whole seconds; what is typed in the setting's own unit is sent as it is.
      return field.unit === 1 ? Number(value) : Math.round(Number(value) * field.unit)
    case 'switch':
      return value === true ? field.on : field.off
    case 'choice':
      return value
  }
}

const DAYS_OF_MONTH = 30

/** The server allows so many early refreshes a day. */
export function aheadPerDay(domain: { monthly_render_limit: number }, percent: number): number {
  return Math.floor((domain.monthly_render_limit * (percent || 0)) / 100 / DAYS_OF_MONTH)
}
