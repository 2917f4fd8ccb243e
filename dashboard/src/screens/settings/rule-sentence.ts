import { DEVICES } from '../../devices.ts'
import { duration, exactDuration } from '../../format.ts'
import type { Rule, SettingsForm } from './values.ts'

const ACTIONS: Record<NonNullable<Rule['action']>, string> = {
  pass: 'get the origin',
  render: 'get rendered pages, also where the path looks like a file',
  'not-found': 'get 404, with the cached page if there is one',
  gone: 'get 410, with the cached page if there is one',
  'no-store': 'get a new render each time',
}

/** Says what a rule does, in one sentence. The sentence is empty while the rule does nothing. */
export function ruleSentence(rule: Partial<Rule> | null, devices: SettingsForm['plain']['devices']): string {
  try {
    return rule === null ? '' : sentenceOf(rule, devices)
  } catch {
    // Its JSON has a value of another kind somewhere.
    return ''
  }
}

function sentenceOf(rule: Partial<Rule>, devices: SettingsForm['plain']['devices']): string {
  const { path = '', when = {} } = rule
  if (path === '') return ''
  const effects = effectsOf(rule)
  if (effects.length === 0) return ''
  const sentence = `${crawlersOf(path, when)} ${joined(effects, 'and')}.`
  if (when.variant !== 'mobile' || devices !== 'one') return sentence
  return `${sentence} Phones get the desktop page on this domain, so this never applies.`
}

/** Says which requests a rule is for. */
function crawlersOf(path: string, { variant, categories, query = {} }: NonNullable<Rule['when']>): string {
  const words = ['Crawlers']
  if (variant !== undefined) words.push(`for ${DEVICES[variant]}`)
  if (categories !== undefined) words.push(`of category ${joined(categories, 'or')}`)
  words.push(`that ask for ${path}`)
  const parameters = Object.entries(query).map(([name, value]) => (value === '*' ? name : `${name}=${value}`))
  if (parameters.length > 0) words.push(`with ${joined(parameters, 'and')}`)
  return words.join(' ')
}

function effectsOf({ action, render = {}, change = {}, ...lifetimes }: Partial<Rule>): string[] {
  // The origin's own answer is neither kept, rendered nor changed.
  if (action === 'pass') return [ACTIONS.pass]
  const effects: string[] = []
  if (action !== undefined) effects.push(ACTIONS[action])
  addTogether(effects, 'get pages that are', ageWords(lifetimes))
  if (render.wait_for !== undefined) effects.push(`get pages only once ${render.wait_for} is there`)
  if (render.wait_ms !== undefined) {
    effects.push(`get what a page shows ${duration(render.wait_ms / 1_000)} later`)
  }
  addTogether(effects, 'get pages without', render.block ?? [])
  addTogether(effects, 'get pages rendered with', browserWords(render))
  addTogether(effects, 'do not get', change.remove ?? [])
  if (change.consent === true) effects.push('do not get consent banners')
  addTogether(effects, 'get another', Object.keys(change.head ?? {}))
  addTogether(effects, 'get the headers', Object.keys(change.headers ?? {}))
  return effects
}

function ageWords({
  fresh_seconds: fresh,
  stale_seconds: stale,
  keep_seconds: keep,
}: Partial<Rule>): string[] {
  const words: string[] = []
  if (fresh !== undefined) words.push(`fresh for ${exactDuration(fresh)}`)
  if (stale !== undefined) words.push(`then stale for ${exactDuration(stale)}`)
  if (keep !== undefined) words.push(`kept for ${exactDuration(keep)}`)
  return words
}

function browserWords({ user_agent, viewport, locale, time_zone }: NonNullable<Rule['render']>): string[] {
  const words: string[] = []
  if (user_agent !== undefined) words.push(`the user agent ${user_agent}`)
  if (viewport !== undefined) words.push(`a window of ${viewport.width} by ${viewport.height} pixels`)
  if (locale !== undefined) words.push(`the locale ${locale}`)
  if (time_zone !== undefined) words.push(`the time zone ${time_zone}`)
  return words
}

/** Adds one effect for all of `parts`, if there are any. */
function addTogether(effects: string[], before: string, parts: readonly string[]): void {
  if (parts.length > 0) effects.push(`${before} ${joined(parts, 'and')}`)
}

/** Writes `a, b and c`. */
function joined(words: readonly string[], last: 'and' | 'or'): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`
}
