import { fieldName, type Problem, type ProblemPath } from '@prepaint/contract/problem.ts'
import {
  domainSettingsPatchSchema,
  domainSettingsSchema,
} from '@prepaint/contract/settings/domain-settings.ts'
import { problemsOf } from '@prepaint/contract/validation.ts'
import type { Settings } from '../../api/types.ts'
import { exactDuration } from '../../format.ts'
import type { SettingsPage } from '../../route-map.ts'
import { ruleFieldAt } from './rule-parts.ts'
import {
  labelOfSetting,
  PLAIN_FIELDS,
  type PlainSetting,
  pageOfSetting,
  plainField,
} from './setting-fields.ts'
import { fieldsOf, lines, type SettingsForm, settingsOf, valueAt, words } from './values.ts'

export const DURATION_HINT = '10 min, 24 h or 7 days'

/** The limits of a number. */
export function limitsOf(name: string): { min: number; max: number } {
  const schema: unknown = domainSettingsSchema.shape[name as keyof typeof domainSettingsSchema.shape]
  const { minValue, maxValue } = schema as { minValue: number | null; maxValue: number | null }
  return {
    min: minValue ?? 0,
    max: maxValue ?? Number.MAX_SAFE_INTEGER,
  }
}

/** Returns the problems of one page before it is sent, by field. */
export function settingsProblems(
  form: SettingsForm,
  page: SettingsPage,
  originProblem: (origin: string) => string | null,
): Record<string, string> {
  const problems: Record<string, string> = {}
  // Rules that cannot be parsed cannot be sent; the others are checked when these are mended.
  const ruleProblems = page === 'paths' ? form.rules.map(({ json }) => jsonProblem(json)) : []
  const canSendRules = ruleProblems.every((problem) => problem === null)
  const settings = settingsOf(canSendRules ? form : { ...form, rules: [] }, page)
  for (const { path, message } of problemsOf(domainSettingsPatchSchema, settings)) {
    const shown = shownProblem({ path: ['settings', ...path], message }, form, page)
    if (shown !== null) problems[shown.field] ??= shown.text
  }
  ruleProblems.forEach((problem, at) => {
    if (problem !== null) problems[`rules.${at}.json`] = problem
  })
  for (const { name, field } of PLAIN_FIELDS) {
    if (field.page === page && field.kind === 'number' && form.plain[name] === '') {
      problems[plainPath(name)] = 'Enter a number'
    }
  }
  switch (page) {
    case 'site': {
      const origin = originProblem(form.origin)
      if (origin !== null) problems['origin'] = origin
      break
    }
    case 'paths':
      if (form.query === 'list' && words(form.queryNames).length === 0) {
        problems['queryNames'] = 'Enter at least one parameter, or choose “None”'
      }
      break
    case 'rendering': {
      const { width, height } = form.visitor
      if (width === '' && height !== '') problems['visitor.width'] = 'Enter both sides, or neither'
      if (height === '' && width !== '') problems['visitor.height'] = 'Enter both sides, or neither'
    }
  }
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

/** Where the form has the input of a setting. */
export function plainPath(name: PlainSetting): string {
  return `plain.${name}`
}

type ShownProblem = { field: string; text: string }

/** Returns where a page shows a problem of the request that saves it, and how. Returns null if it shows it nowhere. */
export function shownProblem(
  { path, message }: Problem,
  form: SettingsForm,
  page: SettingsPage,
): ShownProblem | null {
  const [part, setting, ...rest] = path
  if (part === 'origin_url') return page === 'site' ? { field: 'origin', text: message } : null
  if (part !== 'settings' || !isSetting(setting) || pageOfSetting(setting) !== page) return null
  const [at, ...within] = rest
  switch (setting) {
    case 'rules':
      return typeof at === 'number' ? ruleProblem(at, { path: within, message }, form) : null
    case 'query':
      return { field: 'queryNames', text: ofEntry(words(form.queryNames), at, message) }
    case 'crawlers':
      return crawlerProblem(rest, message, form)
    case 'terms_url':
      return { field: 'policy.terms', text: `The address ${message}` }
    case 'render': {
      const field = VISITOR_FIELDS[fieldName(rest)]
      return field === undefined ? null : { field, text: message }
    }
    default:
      return plainProblem(setting, message)
  }
}

function isSetting(name: unknown): name is keyof Settings {
  return typeof name === 'string' && labelOfSetting(name) !== null
}

/** A problem within a rule, in the words of the field that shows it. What has no field stands at the JSON. */
function ruleProblem(at: number, { path, message }: Problem, form: SettingsForm): ShownProblem {
  const found = ruleFieldAt(path)
  if (found === null) {
    return { field: `rules.${at}.json`, text: `${fieldName(path)} ${message}`.trim() }
  }
  const { field, entry } = found
  const place = `rules.${at}.${field.place}`
  if (field.kind === 'duration') return { field: place, text: durationText('fresh_seconds') }
  const noun = field.noun ?? field.label
  const value = valueAt(fieldsOf(form.rules[at]?.json ?? ''), field.place)
  if (field.place === 'path' && (value === undefined || value === '')) {
    return { field: place, text: 'Enter a path' }
  }
  const named = typeof entry === 'number' && Array.isArray(value) ? value[entry] : entry
  const subject = named == null ? noun : `${noun} ${named}`
  return { field: place, text: `${subject} ${inWords(message)}` }
}

const NO_SELECTOR = 'is not a CSS selector'

/** A message about the value of a setting as a person would say it. */
function inWords(message: string): string {
  if (message === NO_SELECTOR) return 'cannot be read'
  return message.replace(`${NO_SELECTOR}:`, 'cannot be read:')
}

/** Says what is wrong with settings that this screen does not show, by their labels: never by a path such as `rules[3]`. */
export function problemInWords({ path, message }: Problem): string {
  const [setting, at, ...within] = path[0] === 'settings' ? path.slice(1) : path
  if (setting === 'rules' && typeof at === 'number') {
    const label = ruleFieldAt(within)?.field.label ?? fieldName(within)
    return `Rule ${at + 1}, ${label}: ${inWords(message)}`
  }
  const label = typeof setting === 'string' ? labelOfSetting(setting) : null
  return `${label ?? fieldName(path)}: ${message}`
}

/** A message about seconds says nothing to someone who typed days. */
function plainProblem(setting: string, message: string): ShownProblem | null {
  const field = plainField(setting)
  if (field === null) return null
  const place = plainPath(setting as PlainSetting)
  return { field: place, text: field.kind === 'duration' ? durationText(setting) : message }
}

function durationText(setting: string): string {
  const { min, max } = limitsOf(setting)
  return `Enter a time such as ${DURATION_HINT}, from ${exactDuration(min)} to ${exactDuration(max)}`
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

/** Names the entry that is wrong, where a text has several. */
function ofEntry(entries: readonly string[], at: string | number | undefined, message: string): string {
  const entry = typeof at === 'number' ? entries[at] : undefined
  return entry === undefined ? message : `${entry}: ${message}`
}
