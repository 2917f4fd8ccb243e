import type { DomainWithSettings, Settings } from '../../api/types.ts'
import { count, exactDuration } from '../../format.ts'
import type { SettingsPage } from '../../route-map.ts'
import { parseDuration } from './duration-text.ts'

/** What a description may depend on: the domain, and what the input has now. */
type Shown = { domain: DomainWithSettings; value: PlainValue }

/** Where a setting is found, and by which words: `words` are others than those of its label. */
type FoundBy = { page: SettingsPage; label: string; words: string }

type FieldWords = FoundBy & {
  /** The part of its page that shows it. Absent: the page has one part. */
  section?: 'waits' | 'storing' | 'phones' | 'indexnow'
  description?: string | ((shown: Shown) => string)
}

export type NumberField = FieldWords & { kind: 'number' }

/** A setting in seconds, typed with its unit, such as `24 h`. */
export type DurationField = FieldWords & { kind: 'duration' }

/** `on` and `off` are the two values of the setting. */
export type SwitchField<Value> = FieldWords & { kind: 'switch'; on: Value; off: Value }

export type ChoiceField<Value> = FieldWords & {
  kind: 'choice'
  choices: readonly { value: Value; label: string }[]
}

/** `parts`: several inputs of the form of its page show it. `own`: its page has a form of its own for it. */
type Field<Value> =
  | ([Value] extends [number] ? NumberField | DurationField : never)
  | ([Value] extends [string] ? ChoiceField<Value> : never)
  | SwitchField<Value>
  | (FoundBy & { kind: 'parts' | 'own' })

/**
 * All settings of a domain: on which page each stands, how it is shown, and how Ctrl K finds it. A new setting of the
 * contract does not compile without its place here. A setting with an input of its own needs nothing else.
 */
const FIELDS = {
  https_redirect: {
    kind: 'switch',
    page: 'site',
    words: 'TLS SSL secure http',
    label: 'Redirect HTTP to HTTPS',
    description: 'While a certificate is in use',
    on: true,
    off: false,
  },
  fresh_seconds: {
    kind: 'duration',
    page: 'freshness',
    words: 'TTL cache lifetime max-age expiry',
    label: 'Fresh for',
    description: 'Served from the cache',
  },
  stale_seconds: {
    kind: 'duration',
    page: 'freshness',
    words: 'TTL stale-while-revalidate cache lifetime',
    label: 'Then stale for',
    description: 'Served from the cache while it is rendered again',
  },
  keep_seconds: {
    kind: 'duration',
    page: 'freshness',
    words: 'TTL stale-if-error cache lifetime',
    label: 'Kept for',
    description: 'Served if the origin or the render fails',
  },
  crawler_wait_seconds: {
    kind: 'duration',
    page: 'rendering',
    section: 'waits',
    words: 'timeout deadline 504',
    label: 'Longest wait of a crawler',
    description:
      'For a render and then for your server. After that, a crawler gets the last good copy or an error 504.',
  },
  refresh_on_deploy: {
    kind: 'switch',
    page: 'freshness',
    words: 'release build script bundles',
    label: 'A deploy makes pages stale',
    description:
      'When several pages load new script bundles, older pages become stale. They are still served, and are rendered again on the next crawler visit, which counts against the month.',
    on: true,
    off: false,
  },
  refresh_ahead_percent: {
    kind: 'number',
    page: 'freshness',
    words: 'recache prefetch schedule',
    label: "Refresh stale pages early, in percent of the month's renders",
    description: ({ domain, value }) =>
      `Before the next crawler visit, recently visited pages first. At most ${count(aheadPerDay(domain, Number(value)))} renders a day; 0 turns it off.`,
  },
  way: {
    kind: 'choice',
    page: 'site',
    words: 'DNS middleware proxy integration CDN',
    label: 'How crawlers come',
    description: 'With a front of its own, the DNS of the site stays as it is.',
    choices: [
      { value: 'dns', label: 'The DNS leads to Prepaint' },
      { value: 'middleware', label: "The site's own web server, CDN or application sends them" },
    ],
  },
  devices: {
    kind: 'choice',
    page: 'forms',
    section: 'phones',
    words: 'mobile desktop adaptive variant',
    label: 'Phones get',
    choices: [
      { value: 'one', label: 'The same pages as desktops' },
      { value: 'both', label: 'Pages of their own, always' },
      { value: 'auto', label: 'Pages of their own where they differ' },
    ],
  },
  origin_cache_control: {
    kind: 'switch',
    page: 'freshness',
    words: 'no-store private header',
    label: 'Respect the Cache-Control header of the origin',
    description: 'Pages marked no-store or private are not cached',
    on: 'respect',
    off: 'ignore',
  },
  soft_404: {
    kind: 'choice',
    page: 'rendering',
    section: 'storing',
    words: 'soft 404 missing pages not found',
    label: 'Pages with status 200 that look like “not found”',
    description: 'Search engines drop a page that is answered with 404.',
    choices: [
      { value: 'answer', label: 'Answer 404' },
      { value: 'refuse', label: 'Let the site answer' },
      { value: 'store', label: 'Store as a page' },
    ],
  },
  retry_seconds: {
    kind: 'duration',
    page: 'rendering',
    section: 'storing',
    words: 'blank error back-off',
    label: 'Refused pages are rendered again after',
    description:
      'Until then, crawlers get the site’s own answer to pages such as blank ones. Twice as long each time, up to a day; 0 renders at each visit.',
  },
  sitemap: {
    kind: 'switch',
    page: 'sitemap',
    words: 'sitemap.xml index',
    label: 'Generate /sitemap.xml',
    description: 'Replaces that file of your server. Added to robots.txt if Prepaint writes it.',
    on: 'generate',
    off: 'origin',
  },
  indexnow: {
    kind: 'switch',
    page: 'sitemap',
    section: 'indexnow',
    words: 'IndexNow Bing Yandex submit ping',
    label: 'Tell search engines of changed pages',
    description: 'Gathered for ten seconds. Google does not take part.',
    on: true,
    off: false,
  },
  markdown: {
    kind: 'switch',
    page: 'forms',
    words: 'text/markdown LLM agents',
    label: 'Markdown',
    description: 'Clients that ask for Markdown get the text of a page. Off: they get HTML, like others.',
    on: 'on',
    off: 'off',
  },
  cards: {
    kind: 'switch',
    page: 'forms',
    words: 'Open Graph og:image previews social unfurl',
    label: 'Cards',
    description: 'Social networks and messengers get a small page with what their link cards show.',
    on: 'on',
    off: 'off',
  },
  query: { kind: 'parts', page: 'paths', label: 'Query parameters', words: 'utm tracking url variants' },
  rules: {
    kind: 'parts',
    page: 'paths',
    label: 'Path rules',
    words: 'selector wait remove headers noindex exclude no-store block title canonical',
  },
  crawlers: {
    kind: 'parts',
    page: 'crawlers',
    label: 'Who is a crawler',
    words: 'user agent bot additional not crawlers',
  },
  categories: {
    kind: 'parts',
    page: 'crawlers',
    label: 'What each kind of crawler gets',
    words: 'AI search social SEO purposes block payment 402 403 GPTBot training',
  },
  preferences: {
    kind: 'parts',
    page: 'crawlers',
    label: 'Preferences of use',
    words: 'AI training ai_train ai_input content signals',
  },
  terms_url: {
    kind: 'parts',
    page: 'crawlers',
    label: 'Address of your terms',
    words: 'licence payment 402',
  },
  render: {
    kind: 'parts',
    page: 'rendering',
    label: 'User agent, viewport, locale and time zone',
    words: 'browser window size language emulation',
  },
  robots: {
    kind: 'own',
    page: 'robots',
    label: 'Mode and text of robots.txt',
    words: 'disallow allow crawl',
  },
  origin_headers: {
    kind: 'own',
    page: 'access',
    label: 'Headers to the origin',
    words: 'secret authorization password firewall',
  },
} as const satisfies { [Name in keyof Settings]: Field<Settings[Name]> }

type Fields = typeof FIELDS

/** The settings that have an input of their own. */
export type PlainSetting = {
  [Name in keyof Fields]: Fields[Name] extends { kind: 'parts' | 'own' } ? never : Name
}[keyof Fields]

export type PlainField = NumberField | DurationField | SwitchField<unknown> | ChoiceField<string>

/** What an input has. A number is a string while its input is empty or half typed, and a duration always. */
export type PlainValue = number | string | boolean

export type PlainValues = Record<PlainSetting, PlainValue>

export type Section = NonNullable<FieldWords['section']>

type Entry = { name: PlainSetting; field: PlainField }

export const PLAIN_FIELDS: readonly Entry[] = Object.entries(FIELDS).flatMap(([name, field]) =>
  isPlain(field) ? [{ name: name as PlainSetting, field }] : [],
)

function isPlain(field: Fields[keyof Fields]): field is Extract<Fields[keyof Fields], PlainField> {
  return field.kind !== 'parts' && field.kind !== 'own'
}

/** All settings, as Ctrl K lists them. */
export const FOUND_SETTINGS: readonly (FoundBy & { name: keyof Settings })[] = Object.entries(FIELDS).map(
  ([name, { page, label, words }]) => ({ name: name as keyof Settings, page, label, words }),
)

/** On which page a setting is changed. */
export function pageOfSetting(name: keyof Settings): SettingsPage {
  return FIELDS[name].page
}

/** What a setting is called on its page. Null: it is unknown here. */
export function labelOfSetting(name: string): string | null {
  return FOUND_SETTINGS.find((found) => found.name === name)?.label ?? null
}

/** Says how a setting changes, such as `Fresh for: 24 h → 7 days`. Only its label where its value is no short text. */
export function settingChange(name: string, before: unknown, after: unknown): string {
  const label = labelOfSetting(name) ?? name.replaceAll('_', ' ')
  const field = plainField(name)
  if (field === null) return label
  return `${label}: ${valueWords(field, before)} → ${valueWords(field, after)}`
}

function valueWords(field: PlainField, setting: unknown): string {
  switch (field.kind) {
    case 'number':
      return count(Number(setting))
    case 'duration':
      return exactDuration(Number(setting))
    case 'switch':
      return setting === field.on ? 'on' : 'off'
    case 'choice':
      return field.choices.find(({ value }) => value === setting)?.label ?? String(setting)
  }
}

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
      return Number(setting)
    case 'duration':
      return exactDuration(Number(setting))
    case 'switch':
      return setting === field.on
    case 'choice':
      return String(setting)
  }
}

function settingValue(field: PlainField, value: PlainValue): unknown {
  switch (field.kind) {
    case 'number':
      return Number(value)
    case 'duration':
      return parseDuration(String(value)) ?? Number.NaN
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
