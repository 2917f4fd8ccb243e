import { fieldName, type Problem, type ProblemPath } from '@prepaint/contract/problem.ts'
import {
  domainSettingsPatchSchema,
  domainSettingsSchema,
} from '@prepaint/contract/settings/domain-settings.ts'
import { problemsOf } from '@prepaint/contract/validation.ts'
import { count } from '../../format.ts'
import { PLAIN_FIELDS, type PlainSetting, plainField } from './setting-fields.ts'
import { fieldsOf, lines, type SettingsForm, settingsOf, words } from './values.ts'

/** The limits of a number, in the unit of its input. */
export function limitsOf(name: string, unit: number): { min: number; max: number } {
  const schema: unknown = domainSettingsSchema.shape[name as keyof typeof domainSettingsSchema.shape]
  const { minValue, maxValue } = schema as { minValue: number | null; maxValue: number | null }
  return {
    min: Math.ceil((minValue ?? 0) / unit),
    max: Math.floor((maxValue ?? Number.MAX_SAFE_INTEGER) / unit),
  }
}

/** Returns the problems of a form before it is sent, by field. */
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
  for (const { name, field } of PLAIN_FIELDS) {
    if (field.kind === 'number' && form.plain[name] === '') problems[plainPath(name)] = 'Enter a number'
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

/** Where the form has the input of a setting. */
export function plainPath(name: PlainSetting): string {
  return `plain.${name}`
}

type ShownProblem = { field: string; text: string }

/** Returns where the form shows a problem of the request that saves it, and how. Returns null if it shows it nowhere. */
export function shownProblem({ path, message }: Problem, form: SettingsForm): ShownProblem | null {
  const [part, setting, ...rest] = path
  if (part === 'origin_url') return { field: 'origin', text: message }
  if (part !== 'settings' || typeof setting !== 'string') return null
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
    default:
      return plainProblem(setting, message)
  }
}

/** A message about seconds says nothing to someone who typed hours. */
function plainProblem(setting: string, message: string): ShownProblem | null {
  const field = plainField(setting)
  if (field === null) return null
  const place = plainPath(setting as PlainSetting)
  if (field.kind !== 'number' || field.unit === 1) return { field: place, text: message }
  const { min, max } = limitsOf(setting, field.unit)
  return { field: place, text: `Enter a number from ${count(min)} to ${count(max)}` }
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
