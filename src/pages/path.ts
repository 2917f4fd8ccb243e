import type { PagePath } from '../ids.ts'
import { isClickTracking } from './click-tracking.ts'
import { readable, spellPath, spellQuery, split } from './path-spelling.ts'

/** Which query parameters name a page: all, none, or those listed. */
export type QueryRule = 'keep' | 'ignore' | readonly string[]

/** Of a stored path. With ASCII only, it also fits into an index entry of PostgreSQL. */
export const PATH_LIMIT_CHARS = 2_048

/**
 * The one spelling of a page's path and query, or null for what is not a path
 * that we store (the request then goes to the origin as it came).
 *
 * `raw` begins with `/` and is text (not bytes read as Latin-1); a fragment is
 * cut off. Only spellings that RFC 3986 calls equivalent become one: encoded
 * unreserved characters, the case of hex digits, dot segments, and the order of
 * differently named parameters. `/a//b`, `/a/`, `%2F` and `+` stay what they
 * are: origins tell them apart. Idempotent.
 */
export function normalisePath(raw: string, query: QueryRule = 'keep'): PagePath | null {
  if (!readable(raw)) return null
  const [rawPath, rawQuery] = split(raw)

  const path = spellPath(rawPath)
  // `//host/...` reads as another site wherever it is resolved as a reference.
  if (path.startsWith('//')) return null

  const parameters = spellQuery(rawQuery).split('&')
  const kept = parameters.filter((parameter) => parameter !== '' && counts(nameOf(parameter), query))
  // Stable, by name alone: the order of parameters with the same name has a meaning.
  kept.sort((a, b) => compare(nameOf(a), nameOf(b)))

  const whole = kept.length === 0 ? path : `${path}?${kept.join('&')}`
  return whole.length <= PATH_LIMIT_CHARS ? (whole as PagePath) : null
}

/** A beginning of paths, as a purge by prefix takes it (without its `*`), spelt as stored paths are. */
export function normalisePrefix(raw: string): string | null {
  if (!readable(raw)) return null
  const [rawPath, rawQuery] = split(raw)
  const prefix = spellPath(rawPath)
  const whole = raw.includes('?') ? `${prefix}?${spellQuery(rawQuery)}` : prefix
  return whole.startsWith('//') || whole.length > PATH_LIMIT_CHARS ? null : whole
}

function counts(name: string, query: QueryRule): boolean {
  if (query === 'ignore') return false
  const decoded = decodeName(name)
  return query === 'keep' ? !isClickTracking(decoded) : query.includes(decoded)
}

function nameOf(parameter: string): string {
  const equals = parameter.indexOf('=')
  return equals === -1 ? parameter : parameter.slice(0, equals)
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    return name // not UTF-8: then no list names it
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
