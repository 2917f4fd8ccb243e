import type { DomainWithSettings, Settings } from '../../api/types.ts'
import type { Category } from '../../crawler-categories.ts'

export type Rule = Settings['rules'][number]

export type RuleForm = { key: string; json: string }

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
      json: JSON.stringify(rule, null, 2),
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

/** The most early refreshes a day, calculated like on the server. */
export function aheadPerDay(domain: { monthly_render_limit: number }, percent: number | string): number {
  return Math.floor((domain.monthly_render_limit * (Number(percent) || 0)) / 100 / 30)
}

function seconds(value: number | string, unit: number): number {
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

/** The JSON of a rule with another value at a place such as `render.wait_for`; empty values and objects are left out. */
export function withField(json: string, place: string, value: unknown): string {
  return JSON.stringify(changedAt(fieldsOf(json), place.split('.'), value) ?? {}, null, 2)
}

/** null: not a JSON object. */
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

export function valueAt(fields: unknown, place: string): unknown {
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

export function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === undefined || value === '' || value === false
}
