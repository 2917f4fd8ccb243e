import type { DomainWithSettings, Settings } from '../../api/types.ts'
import type { Category } from '../../crawler-categories.ts'

export type Rule = Settings['rules'][number]

export type RuleForm = {
  key: string
  path: string
  action: '' | NonNullable<Rule['action']>
  freshHours: number | string
  /** The other fields, as a JSON object; empty: none. */
  more: string
}

/** Crawlers that are defined, or not treated as crawlers, only on this domain. */
export type CrawlersForm = {
  added: { key: string; pattern: string; category: Category }[]
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

/** Numbers are strings while a field is empty. */
export type SettingsForm = {
  origin: string
  isActive: boolean
  httpsRedirect: boolean
  freshHours: number | string
  staleHours: number | string
  keepDays: number | string
  crawlerWaitSeconds: number | string
  query: 'keep' | 'ignore' | 'list'
  queryNames: string
  rules: RuleForm[]
  respectsCacheControl: boolean
  soft404: Settings['soft_404']
  crawlers: CrawlersForm
  visitor: BrowserForm
  devices: Settings['devices']
  refreshesOnDeploy: boolean
  aheadPercent: number | string
}

export const HOUR_SECONDS = 3_600
export const DAY_SECONDS = 86_400

export function formOf({
  origin_url: origin,
  is_active: isActive,
  settings,
}: DomainWithSettings): SettingsForm {
  const { query } = settings
  return {
    origin,
    isActive,
    httpsRedirect: settings.https_redirect,
    freshHours: settings.fresh_seconds / HOUR_SECONDS,
    staleHours: settings.stale_seconds / HOUR_SECONDS,
    keepDays: settings.keep_seconds / DAY_SECONDS,
    crawlerWaitSeconds: settings.crawler_wait_seconds,
    query: typeof query === 'string' ? query : 'list',
    queryNames: typeof query === 'string' ? '' : query.join('\n'),
    rules: settings.rules.map((rule, at) => ({
      key: `stored-${at}`,
      path: rule.path,
      action: rule.action ?? '',
      freshHours: rule.fresh_seconds === undefined ? '' : rule.fresh_seconds / HOUR_SECONDS,
      more: moreOf(rule),
    })),
    respectsCacheControl: settings.origin_cache_control === 'respect',
    soft404: settings.soft_404,
    crawlers: {
      added: (settings.crawlers.add ?? []).map((each, at) => ({ key: `stored-${at}`, ...each })),
      removed: (settings.crawlers.remove ?? []).join('\n'),
    },
    visitor: {
      userAgent: settings.render.user_agent ?? '',
      width: settings.render.viewport?.width ?? '',
      height: settings.render.viewport?.height ?? '',
      locale: settings.render.locale ?? '',
      timeZone: settings.render.time_zone ?? '',
    },
    devices: settings.devices,
    refreshesOnDeploy: settings.refresh_on_deploy,
    aheadPercent: settings.refresh_ahead_percent,
  }
}

/** Settings that other screens show are not sent. */
export function settingsOf(form: SettingsForm): Partial<Settings> {
  return {
    fresh_seconds: seconds(form.freshHours, HOUR_SECONDS),
    stale_seconds: seconds(form.staleHours, HOUR_SECONDS),
    keep_seconds: seconds(form.keepDays, DAY_SECONDS),
    crawler_wait_seconds: Number(form.crawlerWaitSeconds),
    query: form.query === 'list' ? words(form.queryNames) : form.query,
    rules: form.rules.map(ruleOf),
    https_redirect: form.httpsRedirect,
    origin_cache_control: form.respectsCacheControl ? 'respect' : 'ignore',
    soft_404: form.soft404,
    crawlers: crawlersOf(form.crawlers),
    render: browserOf(form.visitor),
    devices: form.devices,
    refresh_on_deploy: form.refreshesOnDeploy,
    refresh_ahead_percent: Number(form.aheadPercent),
  }
}

export function ruleOf({ path, action, freshHours, more }: RuleForm): Rule {
  return {
    ...(more.trim() === '' ? {} : (JSON.parse(more) as Partial<Rule>)),
    path: path.trim(),
    ...(action !== '' && { action }),
    ...(freshHours !== '' && { fresh_seconds: seconds(freshHours, HOUR_SECONDS) }),
  }
}

function moreOf({ path: _path, action: _action, fresh_seconds: _fresh, ...more }: Rule): string {
  return Object.keys(more).length === 0 ? '' : JSON.stringify(more, null, 2)
}

function crawlersOf({ added, removed }: CrawlersForm): Settings['crawlers'] {
  const patterns = lines(removed)
  return {
    ...(added.length > 0 && {
      add: added.map(({ pattern, category }) => ({ pattern: pattern.trim(), category })),
    }),
    ...(patterns.length > 0 && { remove: patterns }),
  }
}

function browserOf({ userAgent, width, height, locale, timeZone }: BrowserForm): Settings['render'] {
  return {
    ...(userAgent.trim() !== '' && { user_agent: userAgent.trim() }),
    ...(width !== '' && height !== '' && { viewport: { width: Number(width), height: Number(height) } }),
    ...(locale.trim() !== '' && { locale: locale.trim() }),
    ...(timeZone.trim() !== '' && { time_zone: timeZone.trim() }),
  }
}

/** The most early refreshes a day, calculated like on the server. */
export function aheadPerDay(domain: { monthly_render_limit: number }, percent: number | string): number {
  return Math.floor((domain.monthly_render_limit * (Number(percent) || 0)) / 100 / 30)
}

export function seconds(value: number | string, unit: number): number {
  return Math.round(Number(value) * unit)
}

export function words(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((word) => word !== ''))]
}

export function lines(text: string): string[] {
  return [
    ...new Set(
      text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== ''),
    ),
  ]
}

/** A rule's further fields as JSON, with another value at a place; empty values and objects are left out. */
export function withField(more: string, place: readonly string[], value: unknown): string {
  const changed = changedAt(fieldsOf(more) ?? {}, place, value)
  return changed === undefined ? '' : JSON.stringify(changed, null, 2)
}

const OBJECTS = ['when', 'when.query', 'render', 'render.viewport', 'change', 'change.head', 'change.headers']
const LISTS = ['when.categories', 'render.block', 'change.remove']

/** null: not a JSON object, or without objects and lists where a rule has them. */
export function fieldsOf(more: string): Partial<Rule> | null {
  if (more.trim() === '') return {}
  try {
    const fields: unknown = JSON.parse(more)
    const isSound =
      isObject(fields) &&
      OBJECTS.map((place) => valueAt(fields, place)).every(
        (value) => value === undefined || isObject(value),
      ) &&
      LISTS.map((place) => valueAt(fields, place)).every(
        (value) => value === undefined || Array.isArray(value),
      )
    return isSound ? fields : null
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function valueAt(fields: unknown, place: string): unknown {
  return place
    .split('.')
    .reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), fields)
}

function changedAt(fields: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return isEmpty(value) ? undefined : value
  const before = isObject(fields) ? fields : {}
  const { [name]: old, ...others } = before
  const changed = changedAt(old, rest, value)
  const all = changed === undefined ? others : { ...before, [name]: changed }
  return Object.keys(all).length === 0 ? undefined : all
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === undefined || value === '' || value === false
}
