import {
  type BrowserForm,
  type CrawlersForm,
  DAY_SECONDS,
  fieldsOf,
  HOUR_SECONDS,
  lines,
  type SettingsForm,
  seconds,
  words,
} from './values.ts'

/** As on the server. */
export const MAX_RULES = 200
export const MAX_PATTERNS = 100
const MAX_PATTERN_CHARS = 100
const MAX_QUERY_NAMES = 100
const MAX_AGE_SECONDS = 10 * 366 * DAY_SECONDS
export const VIEWPORT_SIDE = { min: 200, max: 4_000 }

export function settingsProblems(
  form: SettingsForm,
  originProblem: (origin: string) => string | null,
): Record<string, string> {
  const problems: Record<string, string | null> = {
    origin: originProblem(form.origin),
    freshHours: ageProblem(form.freshHours, HOUR_SECONDS),
    staleHours: ageProblem(form.staleHours, HOUR_SECONDS),
    keepDays: ageProblem(form.keepDays, DAY_SECONDS),
    crawlerWaitSeconds: isWhole(form.crawlerWaitSeconds, 1, 300)
      ? null
      : 'Enter a whole number from 1 to 300',
    aheadPercent: isWhole(form.aheadPercent, 0, 100) ? null : 'Enter a whole number from 0 to 100',
    queryNames: form.query === 'list' ? namesProblem(words(form.queryNames)) : null,
    ...crawlerProblems(form.crawlers),
    ...browserProblems(form.visitor),
    ...Object.fromEntries(form.rules.map(({ json }, at) => [`rules.${at}.json`, jsonProblem(json)])),
  }
  return Object.fromEntries(
    Object.entries(problems).filter((entry): entry is [string, string] => entry[1] !== null),
  )
}

function jsonProblem(json: string): string | null {
  try {
    JSON.parse(json)
    return fieldsOf(json) === null ? 'Enter a JSON object: {…}' : null
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`
  }
}

function crawlerProblems({ added, removed }: CrawlersForm): Record<string, string | null> {
  const patterns = lines(removed)
  const wrong = patterns.find((pattern) => patternProblem(pattern) !== null)
  return {
    ...Object.fromEntries(
      added.map(({ pattern }, at) => [`crawlers.added.${at}.pattern`, patternProblem(pattern.trim())]),
    ),
    'crawlers.removed':
      patterns.length > MAX_PATTERNS
        ? `Enter at most ${MAX_PATTERNS}`
        : wrong === undefined
          ? null
          : `${wrong}: ${patternProblem(wrong)}`,
  }
}

function patternProblem(pattern: string): string | null {
  if (pattern.replaceAll('*', '').trim().length < 3) return 'Enter at least 3 characters other than *'
  if (pattern.length > MAX_PATTERN_CHARS) return `Enter at most ${MAX_PATTERN_CHARS} characters`
  return /^[\x20-\x7e]*$/.test(pattern) ? null : 'Use only printable ASCII characters'
}

function browserProblems(form: BrowserForm): Record<string, string | null> {
  const { userAgent, width, height, locale, timeZone } = form
  return {
    'visitor.userAgent':
      userAgent.length > 500
        ? 'Enter at most 500 characters'
        : /^[\x20-\x7e]*$/.test(userAgent)
          ? null
          : 'Use only printable ASCII characters',
    'visitor.width': sideProblem(width, height),
    'visitor.height': sideProblem(height, width),
    'visitor.locale':
      locale.trim() === '' || /^[a-z]{2,3}(-[a-z0-9]{2,8})*$/i.test(locale.trim())
        ? null
        : 'Enter a language tag, such as de-CH',
    'visitor.timeZone': isZone(timeZone.trim()) ? null : 'Enter a time zone, such as Europe/Zurich',
  }
}

function sideProblem(side: number | string, other: number | string): string | null {
  if (side === '') return other === '' ? null : 'Enter both sides, or neither'
  const { min, max } = VIEWPORT_SIDE
  return isWhole(side, min, max) ? null : `Enter a whole number from ${min} to ${max}`
}

function isZone(name: string): boolean {
  if (name === '') return true
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null && /^[a-z]/i.test(name)
  } catch {
    return false
  }
}

function namesProblem(names: readonly string[]): string | null {
  if (names.length === 0) return 'Enter at least one parameter, or choose “None”'
  return names.length > MAX_QUERY_NAMES ? `Enter at most ${MAX_QUERY_NAMES}` : null
}

function isWhole(value: number | string, min: number, max: number): boolean {
  const number = Number(value)
  return value !== '' && Number.isInteger(number) && min <= number && number <= max
}

function ageProblem(value: number | string, unit: number): string | null {
  if (value === '' || !Number.isFinite(Number(value)) || Number(value) < 0) return 'Enter a number, 0 or more'
  return seconds(value, unit) > MAX_AGE_SECONDS ? 'Enter at most ten years' : null
}

const FIELDS: readonly (readonly [RegExp, string])[] = [
  [/^origin_url$/, 'origin'],
  [/^settings\.fresh_seconds$/, 'freshHours'],
  [/^settings\.stale_seconds$/, 'staleHours'],
  [/^settings\.keep_seconds$/, 'keepDays'],
  [/^settings\.crawler_wait_seconds$/, 'crawlerWaitSeconds'],
  [/^settings\.refresh_ahead_percent$/, 'aheadPercent'],
  [/^settings\.query(\[\d+\])?$/, 'queryNames'],
  [/^settings\.crawlers\.add\[(\d+)\](\.pattern)?$/, 'crawlers.added.$1.pattern'],
  [/^settings\.crawlers\.remove(\[\d+\])?$/, 'crawlers.removed'],
  [/^settings\.render\.user_agent$/, 'visitor.userAgent'],
  [/^settings\.render\.viewport(\.width)?$/, 'visitor.width'],
  [/^settings\.render\.viewport\.height$/, 'visitor.height'],
  [/^settings\.render\.locale$/, 'visitor.locale'],
  [/^settings\.render\.time_zone$/, 'visitor.timeZone'],
]

/** The field that a server error is about; null: none. */
export function problemOfServer(message: string): { field: string; problem: string } | null {
  const origin = /^Invalid origin URL: (.*)$/.exec(message)
  if (origin !== null) return { field: 'origin', problem: origin[1]! }
  const [, at, ofRule = ''] = /^settings\.rules\[(\d+)\]\.?(.*)$/.exec(message) ?? []
  if (at !== undefined) return { field: `rules.${at}.json`, problem: ofRule.trim() }
  const [, name = '', problem = ''] = /^(\S+) (.+)$/.exec(message) ?? []
  for (const [pattern, field] of FIELDS) {
    if (pattern.test(name)) return { field: name.replace(pattern, field), problem }
  }
  return null
}
