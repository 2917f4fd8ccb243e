import type { DomainWithSettings, Settings } from '../../api/types.ts'
import { type CrawlersForm, crawlersFormOf, crawlersOf, crawlersProblems } from './crawlers-form.ts'
import { type VisitorForm, visitorFormOf, visitorOf, visitorProblems } from './visitor-form.ts'

/** Kinds of crawlers, in words. */
export const CATEGORIES = [
  { category: 'search', label: 'Search', description: 'Google, Bing and others' },
  { category: 'ai', label: 'AI', description: 'Assistants, and those who collect for models' },
  { category: 'social', label: 'Social previews', description: 'Cards of links in networks and messengers' },
  { category: 'seo', label: 'SEO tools', description: 'Ahrefs, Semrush and others' },
  { category: 'other', label: 'All other crawlers', description: 'Archives, monitors and the like' },
] as const satisfies readonly { category: keyof Settings['categories']; label: string; description: string }[]

export type RuleForm = {
  /** Tells rows apart while they are edited. */
  key: string
  path: string
  action: '' | 'pass' | 'render'
  freshHours: number | string
}

/** The settings as people edit them. Numbers are texts while a field is empty. */
export type SettingsForm = {
  origin: string
  isActive: boolean
  httpsRedirect: boolean
  freshHours: number | string
  staleHours: number | string
  keepDays: number | string
  query: 'keep' | 'ignore' | 'list'
  queryNames: string
  rules: RuleForm[]
  rendered: Record<(typeof CATEGORIES)[number]['category'], boolean>
  respectsCacheControl: boolean
  refusesSoft404: boolean
  crawlers: CrawlersForm
  visitor: VisitorForm
  refreshesOnDeploy: boolean
  aheadPercent: number | string
}

const HOUR = 3_600
const DAY = 86_400
const LIFE_LIMIT_SECONDS = 10 * 366 * DAY
/** As the server has them. */
export const RULES_MOST = 100
const QUERY_NAMES_MOST = 100

export function formOf({
  origin_url: origin,
  is_active: isActive,
  settings,
}: DomainWithSettings): SettingsForm {
  const { query, categories } = settings
  const isRendered = (category: keyof Settings['categories']) => categories[category] !== 'pass'
  return {
    origin,
    isActive,
    httpsRedirect: settings.https_redirect,
    freshHours: settings.fresh_seconds / HOUR,
    staleHours: settings.stale_seconds / HOUR,
    keepDays: settings.keep_seconds / DAY,
    query: typeof query === 'string' ? query : 'list',
    queryNames: typeof query === 'string' ? '' : query.join('\n'),
    rules: settings.rules.map((rule, at) => ({
      key: `stored-${at}`,
      path: rule.path,
      action: rule.action ?? '',
      freshHours: rule.fresh_seconds === undefined ? '' : rule.fresh_seconds / HOUR,
    })),
    rendered: {
      search: isRendered('search'),
      ai: isRendered('ai'),
      social: isRendered('social'),
      seo: isRendered('seo'),
      other: isRendered('other'),
    },
    respectsCacheControl: settings.origin_cache_control === 'respect',
    refusesSoft404: settings.soft_404 === 'refuse',
    crawlers: crawlersFormOf(settings.crawlers),
    visitor: visitorFormOf(settings.render),
    refreshesOnDeploy: settings.refresh_on_deploy,
    aheadPercent: settings.refresh_ahead_percent,
  }
}

/** The fields that this form has; of `stored`, what it does not touch stays. */
export function settingsOf(form: SettingsForm, stored: Settings): Partial<Settings> {
  const categories: Settings['categories'] = { ...stored.categories }
  for (const { category } of CATEGORIES) {
    if (!form.rendered[category]) categories[category] = 'pass'
    else if (categories[category] === 'pass') delete categories[category]
  }
  return {
    fresh_seconds: seconds(form.freshHours, HOUR),
    stale_seconds: seconds(form.staleHours, HOUR),
    keep_seconds: seconds(form.keepDays, DAY),
    query: form.query === 'list' ? lines(form.queryNames) : form.query,
    rules: form.rules.map(({ path, action, freshHours }) => ({
      path: path.trim(),
      ...(action !== '' && { action }),
      ...(freshHours !== '' && { fresh_seconds: seconds(freshHours, HOUR) }),
    })),
    categories,
    https_redirect: form.httpsRedirect,
    origin_cache_control: form.respectsCacheControl ? 'respect' : 'ignore',
    soft_404: form.refusesSoft404 ? 'refuse' : 'store',
    crawlers: crawlersOf(form.crawlers),
    render: visitorOf(form.visitor),
    refresh_on_deploy: form.refreshesOnDeploy,
    refresh_ahead_percent: Number(form.aheadPercent),
  }
}

/** What is wrong, by the field of the form. */
export function settingsProblems(
  form: SettingsForm,
  originProblem: (origin: string) => string | null,
): Record<string, string> {
  const problems: Record<string, string | null> = {
    origin: originProblem(form.origin),
    freshHours: lifeProblem(form.freshHours, HOUR),
    staleHours: lifeProblem(form.staleHours, HOUR),
    keepDays: lifeProblem(form.keepDays, DAY),
    aheadPercent: percentProblem(form.aheadPercent),
    queryNames: form.query === 'list' ? namesProblem(lines(form.queryNames)) : null,
    ...crawlersProblems(form.crawlers),
    ...visitorProblems(form.visitor),
  }
  form.rules.forEach(({ path, action, freshHours }, at) => {
    problems[`rules.${at}.path`] = path.trim().startsWith('/') ? null : 'Begin with /'
    problems[`rules.${at}.freshHours`] =
      freshHours !== ''
        ? lifeProblem(freshHours, HOUR)
        : action === ''
          ? 'Choose what happens, or a time'
          : null
  })
  return Object.fromEntries(
    Object.entries(problems).filter((entry): entry is [string, string] => entry[1] !== null),
  )
}

/** Refreshes that no crawler waits for, at most, as the server has it. */
export function aheadADay(domain: { monthly_render_limit: number }, percent: number | string): number {
  return Math.floor((domain.monthly_render_limit * (Number(percent) || 0)) / 100 / 30)
}

function namesProblem(names: readonly string[]): string | null {
  if (names.length === 0) return 'Name at least one parameter, or choose “None”'
  if (names.length > QUERY_NAMES_MOST) return `Name at most ${QUERY_NAMES_MOST}`
  return null
}

function percentProblem(value: number | string): string | null {
  const percent = Number(value)
  const isOne = value !== '' && Number.isInteger(percent) && percent >= 0 && percent <= 100
  return isOne ? null : 'Enter a whole number from 0 to 100'
}

function lifeProblem(value: number | string, unit: number): string | null {
  if (value === '' || !Number.isFinite(Number(value)) || Number(value) < 0) return 'Enter a number, 0 or more'
  return seconds(value, unit) > LIFE_LIMIT_SECONDS ? 'At most ten years' : null
}

function seconds(value: number | string, unit: number): number {
  return Math.round(Number(value) * unit)
}

function lines(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((line) => line !== ''))]
}
