import { LINE_BREAK, parseRobots } from '../sitemaps/robots-rules.ts'
import type { Preferences, RobotsMode } from '../sites/domain-settings.ts'

export const ROBOTS_TEXT_LIMIT_BYTES = 512_000

export type RobotsParts = {
  mode: RobotsMode
  /** The owner's. */
  text: string
  /** The origin's. */
  origin: string
  preferences: Preferences
  /** Of a generated sitemap; null: none. */
  sitemapUrl: string | null
}

/** The robots.txt that is served in place of the origin's. */
export function composeRobots({ mode, text, origin, preferences, sitemapUrl }: RobotsParts): string {
  const own = mode === 'origin' ? '' : text
  const base = mode === 'replace' ? own : joined(origin, own)
  const signalled = withPreferences(base, preferences)
  const isNamed = sitemapUrl === null || parseRobots(signalled).sitemaps.includes(sitemapUrl)
  return isNamed ? signalled : joined(signalled, `Sitemap: ${sitemapUrl}\n`)
}

/** A blank line between them, which ends no group and reads well. */
function joined(first: string, second: string): string {
  if (first.trim() === '' || second === '') return first.trim() === '' ? second : first
  return `${first}${/[\r\n]$/.test(first) ? '' : '\n'}\n${second}`
}

/** What `append` may add: text that cannot become part of the origin's last group. */
export function beginsGroup(text: string): boolean {
  const first = text
    .replace(/^\ufeff/, '')
    .split(LINE_BREAK)
    .map((line) => line.split('#', 1)[0]!.trim())
    .find((line) => line !== '')
  return first === undefined || /^(?:user-agent|sitemap)\s*:/i.test(first)
}

export function hasPreferences({ search, ai_input, ai_train }: Preferences): boolean {
  return (search ?? ai_input ?? ai_train) !== undefined
}

/** Members of `Content-Signal` (contentsignals.org). */
export function contentSignal({ search, ai_input, ai_train }: Preferences): [name: string, value: string][] {
  const word = { allow: 'yes', deny: 'no' } as const
  return [
    ...(search === undefined ? [] : [['search', word[search]] as [string, string]]),
    ...(ai_input === undefined ? [] : [['ai-input', word[ai_input]] as [string, string]]),
    ...(ai_train === undefined ? [] : [['ai-train', word[ai_train]] as [string, string]]),
  ]
}

/** Members of `Content-Usage` (draft-ietf-aipref-vocab-07), which has no word for input. */
export function contentUsage({ search, ai_train }: Preferences): [name: string, value: string][] {
  const word = { allow: 'y', deny: 'n' } as const
  return [
    ...(search === undefined ? [] : [['search', word[search]] as [string, string]]),
    ...(ai_train === undefined ? [] : [['train-ai', word[ai_train]] as [string, string]]),
  ]
}

export function membersText(members: readonly (readonly [name: string, value: string])[]): string {
  return members.map(([name, value]) => `${name}=${value}`).join(', ')
}

/** In every group, because a crawler reads only its own. A group keeps a line of its own. */
function withPreferences(text: string, preferences: Preferences): string {
  if (!hasPreferences(preferences)) return text
  const usage = contentUsage(preferences)
  const wanted: [name: string, line: string][] = [
    ['content-signal', `Content-Signal: ${membersText(contentSignal(preferences))}`],
    ...(usage.length === 0
      ? []
      : [['content-usage', `Content-Usage: / ${membersText(usage)}`] as [string, string]]),
  ]
  const { groups } = parseRobots(text)
  const added = new Map<number, string[]>()
  for (const { agentLine, others } of groups) {
    added.set(
      agentLine,
      wanted.flatMap(([name, line]) => (others.has(name) ? [] : [line])),
    )
  }
  const lines = text.split(LINE_BREAK).flatMap((line, at) => [line, ...(added.get(at) ?? [])])
  const isForAll = groups.some(({ tokens }) => tokens.includes('*'))
  const all = ['User-agent: *', ...wanted.map(([, line]) => line), 'Allow: /', ''].join('\n')
  return isForAll ? lines.join('\n') : joined(lines.join('\n'), all)
}
