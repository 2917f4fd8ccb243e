import { type Rule, type RuleForm, ruleOf, type SettingsForm } from './values.ts'

const ACTIONS: Record<NonNullable<Rule['action']>, string> = {
  pass: 'get the origin',
  render: 'get rendered pages, also where the path looks like a file',
  'not-found': 'get 404, with the cached page if there is one',
  gone: 'get 410, with the cached page if there is one',
  'no-store': 'get a new render each time',
}

const VARIANTS = { desktop: 'desktops', mobile: 'phones' }

/** What a rule does, in one sentence; empty while its JSON cannot be read. */
export function ruleSentence(form: RuleForm, devices: SettingsForm['devices']): string {
  let rule: Rule
  try {
    rule = ruleOf(form)
  } catch {
    return ''
  }
  if (rule.path === '') return ''
  const { when, action } = rule
  // The origin's own answer is neither rendered nor changed.
  const { render, change, ...kept }: Partial<Rule> = action === 'pass' ? {} : rule
  const variant = when?.variant === undefined ? '' : ` for ${VARIANTS[when.variant]}`
  const categories = when?.categories === undefined ? '' : ` of category ${list(when.categories, 'or')}`
  const query = Object.entries(when?.query ?? {}).map(([name, value]) =>
    value === '*' ? name : `${name}=${value}`,
  )
  const where = `${rule.path}${query.length === 0 ? '' : ` with ${list(query, 'and')}`}`
  const does = [
    action === undefined ? '' : ACTIONS[action],
    ...lifetimes(kept),
    ...(render?.wait_for === undefined ? [] : [`get pages only once ${render.wait_for} is there`]),
    ...(render?.wait_ms === undefined ? [] : [`get what a page shows ${render.wait_ms / 1_000} s later`]),
    ...(render?.block === undefined ? [] : [`get pages without ${list(render.block, 'and')}`]),
    ...(render === undefined ? [] : browser(render)),
    ...(change?.remove === undefined ? [] : [`do not get ${list(change.remove, 'and')}`]),
    ...(change?.consent === true ? ['do not get consent banners'] : []),
    ...(change?.head === undefined ? [] : [`get another ${list(Object.keys(change.head), 'and')}`]),
    ...(change?.headers === undefined ? [] : [`get the headers ${list(Object.keys(change.headers), 'and')}`]),
  ].filter((part) => part !== '')
  const never =
    when?.variant === 'mobile' && devices === 'one'
      ? ' Phones get the desktop page on this domain, so this never matches.'
      : ''
  return does.length === 0
    ? ''
    : `Crawlers${variant}${categories} that ask for ${where} ${list(does, 'and')}.${never}`
}

function browser({ user_agent, viewport, locale, time_zone }: NonNullable<Rule['render']>): string[] {
  const parts = [
    ...(user_agent === undefined ? [] : [`the user agent ${user_agent}`]),
    ...(viewport === undefined ? [] : [`a window of ${viewport.width} by ${viewport.height} pixels`]),
    ...(locale === undefined ? [] : [`the locale ${locale}`]),
    ...(time_zone === undefined ? [] : [`the time zone ${time_zone}`]),
  ]
  return parts.length === 0 ? [] : [`get pages rendered with ${list(parts, 'and')}`]
}

function lifetimes({
  fresh_seconds: fresh,
  stale_seconds: stale,
  keep_seconds: keep,
}: Partial<Rule>): string[] {
  const parts = [
    ...(fresh === undefined ? [] : [`fresh for ${hours(fresh)}`]),
    ...(stale === undefined ? [] : [`then stale for ${hours(stale)}`]),
    ...(keep === undefined ? [] : [`kept for ${hours(keep)}`]),
  ]
  return parts.length === 0 ? [] : [`get pages that are ${list(parts, 'and')}`]
}

function hours(seconds: number): string {
  return seconds < 3_600 ? `${seconds} s` : `${Math.round(seconds / 360) / 10} h`
}

function list(words: readonly string[], last: 'and' | 'or'): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`
}
