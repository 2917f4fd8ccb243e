import type { CrawlerCategory } from '@prepaint/contract/settings/domain-settings.ts'
import type { DomainWithSettings, Settings } from '../../api/types.ts'
import type { SettingsPage } from '../../route-map.ts'
import { type PlainValues, pageOfSetting, plainSettings, plainValues } from './setting-fields.ts'

export type Rule = Settings['rules'][number]

/** `key` tells rows apart while they are moved. */
export type RuleForm = { key: string; json: string }

/** Crawlers that are defined, or not treated as crawlers, only on this domain. */
export type CrawlersForm = {
  added: { key: string; pattern: string; category: CrawlerCategory }[]
  removed: string
}

/** Empty fields use the defaults. */
export type BrowserForm = {
  userAgent: string
  width: number | string
  height: number | string
  locale: string
  timeZone: string
}

/** What counts for a field of the browser that is empty. */
export const BROWSER_DEFAULTS = {
  userAgent: 'that of Chromium, followed by Prepaint',
  width: '1280',
  height: '1024',
  locale: 'en-US',
  timeZone: 'UTC',
}

/** What each kind of crawler gets and is told. Replaced as a whole. */
export type PolicyForm = Pick<Settings, 'categories' | 'preferences'> & { terms: string }

/** All that the pages with a form show. `plain` has the settings with an input of their own. */
export type SettingsForm = {
  origin: string
  isActive: boolean
  plain: PlainValues
  query: 'keep' | 'ignore' | 'list'
  queryNames: string
  rules: RuleForm[]
  crawlers: CrawlersForm
  visitor: BrowserForm
  policy: PolicyForm
}

export function formOf({
  origin_url: origin,
  is_active: isActive,
  settings,
}: DomainWithSettings): SettingsForm {
  const { query, rules, categories, preferences, terms_url } = settings
  return {
    origin,
    isActive,
    plain: plainValues(settings),
    query: typeof query === 'string' ? query : 'list',
    queryNames: typeof query === 'string' ? '' : query.join('\n'),
    rules: rules.map((rule, at) => ({ key: `stored-${at}`, json: JSON.stringify(rule, null, 2) })),
    crawlers: crawlersForm(settings.crawlers),
    visitor: browserForm(settings.render),
    policy: { categories, preferences, terms: terms_url ?? '' },
  }
}

function crawlersForm({ add = [], remove = [] }: Settings['crawlers']): CrawlersForm {
  const added = add.map((crawler, at) => ({ key: `stored-${at}`, ...crawler }))
  return { added, removed: remove.join('\n') }
}

function browserForm({ user_agent, viewport, locale, time_zone }: Settings['render']): BrowserForm {
  return {
    userAgent: user_agent ?? '',
    width: viewport?.width ?? '',
    height: viewport?.height ?? '',
    locale: locale ?? '',
    timeZone: time_zone ?? '',
  }
}

/** Only the settings of one page are sent: the others may have been changed elsewhere meanwhile. */
export function settingsOf(form: SettingsForm, page: SettingsPage): Partial<Settings> {
  const settings: Partial<Settings> = plainSettings(form.plain)
  switch (page) {
    case 'paths':
      settings.query = form.query === 'list' ? words(form.queryNames) : form.query
      settings.rules = form.rules.map(ruleOf)
      break
    case 'crawlers':
      settings.crawlers = crawlersOf(form.crawlers)
      settings.categories = form.policy.categories
      settings.preferences = form.policy.preferences
      settings.terms_url = form.policy.terms.trim() || null
      break
    case 'rendering':
      settings.render = browserOf(form.visitor)
  }
  const ofPage = Object.entries(settings).filter(([name]) => pageOfSetting(name as keyof Settings) === page)
  return Object.fromEntries(ofPage) as Partial<Settings>
}

export function ruleOf({ json }: RuleForm): Rule {
  return JSON.parse(json) as Rule
}

function crawlersOf({ added, removed }: CrawlersForm): Settings['crawlers'] {
  const crawlers: Settings['crawlers'] = {}
  if (added.length > 0) {
    crawlers.add = added.map(({ pattern, category }) => ({ pattern: pattern.trim(), category }))
  }
  const patterns = lines(removed)
  if (patterns.length > 0) crawlers.remove = patterns
  return crawlers
}

function browserOf({ userAgent, width, height, locale, timeZone }: BrowserForm): Settings['render'] {
  const render: Settings['render'] = {}
  if (userAgent.trim() !== '') render.user_agent = userAgent.trim()
  if (width !== '' && height !== '') render.viewport = { width: Number(width), height: Number(height) }
  if (locale.trim() !== '') render.locale = locale.trim()
  if (timeZone.trim() !== '') render.time_zone = timeZone.trim()
  return render
}

/** Splits a text at spaces, commas and line breaks, and drops what is there twice. */
export function words(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((word) => word !== ''))]
}

/** Splits a text into its lines without blank ones, and drops what is there twice. */
export function lines(text: string): string[] {
  const trimmed = text.split('\n').map((line) => line.trim())
  return [...new Set(trimmed.filter((line) => line !== ''))]
}

/** The JSON of a rule with another value at a place such as `render.wait_for`; empty values and objects are left out. */
export function withField(json: string, place: string, value: unknown): string {
  return JSON.stringify(changedAt(fieldsOf(json), place.split('.'), value) ?? {}, null, 2)
}

/** Returns null if the text is not a JSON object. */
export function fieldsOf(json: string): Partial<Rule> | null {
  try {
    const fields: unknown = JSON.parse(json)
    return isObject(fields) ? fields : null
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the value at a place such as `render.wait_for`. */
export function valueAt(fields: unknown, place: string): unknown {
  let value = fields
  for (const name of place.split('.')) value = isObject(value) ? value[name] : undefined
  return value
}

function changedAt(fields: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return isEmpty(value) ? undefined : value
  const before = isObject(fields) ? fields : {}
  const { [name]: old, ...others } = before
  const changed = changedAt(old, rest, value)
  const all = changed === undefined ? others : { ...before, [name]: changed }
  return Object.keys(all).length === 0 ? undefined : all
}

export function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === undefined || value === '' || value === false
}
