import { fieldName, type Problem, type ProblemPath } from '@prepaint/contract/problem.ts'
import { seconds } from '@prepaint/contract/rules/schema.ts'
import {
  domainSettingsPatchSchema,
  domainSettingsSchema,
} from '@prepaint/contract/settings/domain-settings.ts'
import { problemsOf } from '@prepaint/contract/validation.ts'
import { count } from '../../format.ts'
import { DAY_SECONDS, fieldsOf, HOUR_SECONDS, lines, type SettingsForm, settingsOf, words } from './values.ts'

const { crawler_wait_seconds: wait, refresh_ahead_percent: ahead } = domainSettingsSchema.shape

/** Limits of numbers, for inputs. */
export const WAIT_SECONDS = limitsOf(wait)
export const AHEAD_PERCENT = limitsOf(ahead)

function limitsOf({ minValue, maxValue }: { minValue: number | null; maxValue: number | null }) {
  return { min: minValue ?? 0, max: maxValue ?? Number.MAX_SAFE_INTEGER }
}

/** Lifetimes are typed in hours or days, and sent in seconds. */
const LIFETIMES = [
  { field: 'freshHours', setting: 'fresh_seconds', unit: HOUR_SECONDS },
  { field: 'staleHours', setting: 'stale_seconds', unit: HOUR_SECONDS },
  { field: 'keepDays', setting: 'keep_seconds', unit: DAY_SECONDS },
] as const

/** The problems of a form before it is sent, by field. */
export function settingsProblems(
  form: SettingsForm,
  originProblem: (origin: string) => string | null,
): Record<string, string> {
  const problems: Record<string, string> = {}
  // Rules that cannot be parsed cannot be sent; the others are checked when these are mended.
  const ruleProblems = form.rules.map(({ json }) => jsonProblem(json))
  const canSendRules = ruleProblems.every((problem) => problem === null)
  const settings = settingsOf(canSendRules ? form : { ...form, rules: [] })
  for (const { path, message } of problemsOf(domainSettingsPatchSchema, settings)) {
    const shown = shownProblem({ path: ['settings', ...path], message }, form)
    if (shown !== null) problems[shown.field] ??= shown.text
  }
  ruleProblems.forEach((problem, at) => {
    if (problem !== null) problems[`rules.${at}.json`] = problem
  })
  for (const field of [
    'freshHours',
    'staleHours',
    'keepDays',
    'crawlerWaitSeconds',
    'aheadPercent',
  ] as const) {
    if (form[field] === '') problems[field] = 'Enter a number'
  }
  if (form.query === 'list' && words(form.queryNames).length === 0) {
    problems['queryNames'] = 'Enter at least one parameter, or choose “None”'
  }
  const { width, height } = form.visitor
  if (width === '' && height !== '') problems['visitor.width'] = 'Enter both sides, or neither'
  if (height === '' && width !== '') problems['visitor.height'] = 'Enter both sides, or neither'
  const origin = originProblem(form.origin)
  if (origin !== null) problems['origin'] = origin
  return problems
}

function jsonProblem(json: string): string | null {
  try {
    JSON.parse(json)
    return fieldsOf(json) === null ? 'Enter a JSON object: {…}' : null
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`
  }
}

type ShownProblem = { field: string; text: string }

/** Where the form shows a problem of the request that saves it, and how; null: nowhere. */
export function shownProblem({ path, message }: Problem, form: SettingsForm): ShownProblem | null {
  const [part, setting, ...rest] = path
  if (part === 'origin_url') return { field: 'origin', text: message }
  if (part !== 'settings') return null
  const [at, ...within] = rest
  switch (setting) {
    case 'rules':
      if (typeof at !== 'number') return null
      return { field: `rules.${at}.json`, text: `${fieldName(within)} ${message}`.trim() }
    case 'query':
      return { field: 'queryNames', text: ofEntry(words(form.queryNames), at, message) }
    case 'crawlers':
      return crawlerProblem(rest, message, form)
    case 'render': {
      const field = VISITOR_FIELDS[fieldName(rest)]
      return field === undefined ? null : { field, text: message }
    }
    case 'crawler_wait_seconds':
      return { field: 'crawlerWaitSeconds', text: message }
    case 'refresh_ahead_percent':
      return { field: 'aheadPercent', text: message }
    default: {
      const lifetime = LIFETIMES.find((one) => one.setting === setting)
      if (lifetime === undefined) return null
      const most = count(Math.floor((seconds.maxValue ?? 0) / lifetime.unit))
      return { field: lifetime.field, text: `Enter a number from 0 to ${most}` }
    }
  }
}

const VISITOR_FIELDS: Record<string, string> = {
  user_agent: 'visitor.userAgent',
  viewport: 'visitor.width',
  'viewport.width': 'visitor.width',
  'viewport.height': 'visitor.height',
  locale: 'visitor.locale',
  time_zone: 'visitor.timeZone',
}

function crawlerProblem(path: ProblemPath, message: string, form: SettingsForm): ShownProblem | null {
  const [list, at] = path
  if (list === 'add' && typeof at === 'number') {
    return { field: `crawlers.added.${at}.pattern`, text: message }
  }
  if (list !== 'remove') return null
  return { field: 'crawlers.removed', text: ofEntry(lines(form.crawlers.removed), at, message) }
}

/** Of a text with several entries: names the one that is wrong. */
function ofEntry(entries: readonly string[], at: string | number | undefined, message: string): string {
  const entry = typeof at === 'number' ? entries[at] : undefined
  return entry === undefined ? message : `${entry}: ${message}`
}
