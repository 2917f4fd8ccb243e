import type { DomainSettings, Preferences } from '../settings/domain-settings.ts'
import { LINE_BREAK, parseRobots } from './robots-rules.ts'

/** What an owner has put in front of a site; `robots` with its text. */
export type FilesOf = { name: string; files: Pick<DomainSettings, 'preferences' | 'robots' | 'sitemap'> }

export const ROBOTS_TEXT_LIMIT_BYTES = 512_000

/** Otherwise the origin's is passed on as it is. */
export function isServedByUs({ robots, preferences }: FilesOf['files']): boolean {
  return robots.mode !== 'origin' || Object.keys(preferences).length > 0
}

/** What is served, of the owner's text and the origin's. */
export function servedRobots({ name, files }: FilesOf, origin: string): string {
  const { robots, preferences, sitemap } = files
  if (!isServedByUs(files)) return origin
  // A byte order mark inside of a file would spoil its line.
  const own = robots.mode === 'origin' ? '' : (robots.text ?? '').replace(/^\ufeff/, '')
  const base = robots.mode === 'replace' ? own : joined(origin, own)
  const signalled = withPreferences(base, preferences)
  const url = `https://${name}/sitemap.xml`
  const isNamed = sitemap !== 'generate' || parseRobots(signalled).sitemaps.includes(url)
  return isNamed ? signalled : joined(signalled, `Sitemap: ${url}\n`)
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

/** A field of robots.txt and of responses, with what it calls the preferences. */
type Vocabulary = {
  field: string
  names: Partial<Record<keyof Preferences, string>>
  words: { allow: string; deny: string }
}

export const VOCABULARIES: readonly Vocabulary[] = [
  // contentsignals.org
  {
    field: 'Content-Signal',
    names: { search: 'search', ai_input: 'ai-input', ai_train: 'ai-train' },
    words: { allow: 'yes', deny: 'no' },
  },
  // draft-ietf-aipref-vocab-07, which has no word for input.
  {
    field: 'Content-Usage',
    names: { search: 'search', ai_train: 'train-ai' },
    words: { allow: 'y', deny: 'n' },
  },
]

/** Members such as `search=yes`. */
export function membersOf(preferences: Preferences, { names, words }: Vocabulary): string[] {
  return Object.entries(names).flatMap(([use, name]) => {
    const stated = preferences[use as keyof Preferences]
    return stated === undefined ? [] : [`${name}=${words[stated]}`]
  })
}

/** Adds lines to every group, because a crawler reads only its own. A group keeps a line of its own. */
function withPreferences(text: string, preferences: Preferences): string {
  const wanted = VOCABULARIES.flatMap((vocabulary) => {
    const { field } = vocabulary
    const members = membersOf(preferences, vocabulary).join(', ')
    const path = field === 'Content-Usage' ? '/ ' : ''
    return members === '' ? [] : [{ name: field.toLowerCase(), line: `${field}: ${path}${members}` }]
  })
  if (wanted.length === 0) return text
  const { groups } = parseRobots(text)
  const groupAt = new Map(groups.map((group) => [group.agentLine, group]))
  const lines = text.split(LINE_BREAK).flatMap((line, at) => {
    const group = groupAt.get(at)
    return [line, ...wanted.flatMap((each) => (group?.others.has(each.name) === false ? [each.line] : []))]
  })
  const isForAll = groups.some(({ tokens }) => tokens.includes('*'))
  const all = ['User-agent: *', ...wanted.map(({ line }) => line), 'Allow: /', ''].join('\n')
  return isForAll ? lines.join('\n') : joined(lines.join('\n'), all)
}
