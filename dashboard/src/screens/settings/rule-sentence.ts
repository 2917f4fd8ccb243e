import type { Rule, SettingsForm } from './values.ts'

const ACTIONS: Record<NonNullable<Rule['action']>, string> = {
  pass: 'get the origin',
  render: 'get rendered pages, also where the path looks like a file',
  'not-found': 'get 404, with the cached page if there is one',
  gone: 'get 410, with the cached page if there is one',
  'no-store': 'get a new render each time',
}

/** What a rule does, in one sentence; empty while it is none. */
export function ruleSentence(rule: Partial<Rule> | null, devices: SettingsForm['devices']): string {
  try {
    return rule === null ? '' : sentenceOf(rule, devices)
  } catch {
    // Its JSON has a value of another kind somewhere.
    return ''
  }
}

function sentenceOf(rule: Partial<Rule>, devices: SettingsForm['devices']): string {
  const { path = '', when = {}, action } = rule
  if (path === '') return ''
  // The origin's own answer is neither rendered nor changed.
  const { render = {}, change = {}, ...kept }: Partial<Rule> = action === 'pass' ? {} : rule
  const query = Object.entries(when.query ?? {}).map(([name, value]) =>
    value === '*' ? name : `${name}=${value}`,
  )
  const does = [
    ...said(action, (one) => ACTIONS[one]),
    ...together('get pages that are', [
      ...said(kept.fresh_seconds, (age) => `fresh for ${hours(age)}`),
      ...said(kept.stale_seconds, (age) => `then stale for ${hours(age)}`),
      ...said(kept.keep_seconds, (age) => `kept for ${hours(age)}`),
    ]),
    ...said(render.wait_for, (selector) => `get pages only once ${selector} is there`),
    ...said(render.wait_ms, (ms) => `get what a page shows ${ms / 1_000} s later`),
    ...together('get pages without', render.block ?? []),
    ...together('get pages rendered with', [
      ...said(render.user_agent, (agent) => `the user agent ${agent}`),
      ...said(render.viewport, ({ width, height }) => `a window of ${width} by ${height} pixels`),
      ...said(render.locale, (locale) => `the locale ${locale}`),
      ...said(render.time_zone, (zone) => `the time zone ${zone}`),
    ]),
    ...together('do not get', change.remove ?? []),
    ...(change.consent === true ? ['do not get consent banners'] : []),
    ...together('get another', Object.keys(change.head ?? {})),
    ...together('get the headers', Object.keys(change.headers ?? {})),
  ]
  if (does.length === 0) return ''
  const crawlers = [
    'Crawlers',
    ...said(when.variant, (variant) => `for ${variant === 'mobile' ? 'phones' : 'desktops'}`),
    ...said(when.categories, (categories) => `of category ${list(categories, 'or')}`),
    `that ask for ${path}`,
    ...together('with', query),
  ].join(' ')
  const never =
    when.variant === 'mobile' && devices === 'one'
      ? ' Phones get the desktop page on this domain, so this never matches.'
      : ''
  return `${crawlers} ${list(does, 'and')}.${never}`
}

function said<T>(value: T | undefined, say: (value: T) => string): string[] {
  return value === undefined ? [] : [say(value)]
}

function together(before: string, parts: readonly string[]): string[] {
  return parts.length === 0 ? [] : [`${before} ${list(parts, 'and')}`]
}

function hours(seconds: number): string {
  return seconds < 3_600 ? `${seconds} s` : `${Math.round(seconds / 360) / 10} h`
}

function list(words: readonly string[], last: 'and' | 'or'): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`
}
