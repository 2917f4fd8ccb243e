import type { PagePath } from '../ids.ts'
import { isClickTracking } from './click-tracking.ts'

/** Which query parameters name a page: all, none, or those listed. */
export type QueryRule = 'keep' | 'ignore' | readonly string[]

/** Of a stored path. With ASCII only, it also fits into an index entry of PostgreSQL. */
export const PATH_LIMIT_CHARS = 2_048

/** What is read at all: much of it may be click-tracking. */
const RAW_LIMIT_CHARS = 16_384

// Written out or percent-encoded. No page needs them, and headers, logs and SQL would all have to fear them.
const CONTROL = /[\x00-\x1f\x7f]|%[01][0-9a-f]|%7f/i

// RFC 3986, sections 2.3 and 3.3: what stands for itself; everything else is percent-encoded.
// No `i` flag: with `u` it would take U+017F and U+212A for an s and a k.
const IN_PATH = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/]/gu
const IN_QUERY = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?]/gu
const UNRESERVED = /[A-Za-z0-9\-._~]/

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

  const path = withoutDotSegments(spell(rawPath, IN_PATH))
  // `//host/...` reads as another site wherever it is resolved as a reference.
  if (path.startsWith('//')) return null

  const parameters = spell(rawQuery, IN_QUERY).split('&')
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
  const prefix = withoutDotSegments(spell(rawPath, IN_PATH))
  const whole = raw.includes('?') ? `${prefix}?${spell(rawQuery, IN_QUERY)}` : prefix
  return whole.startsWith('//') || whole.length > PATH_LIMIT_CHARS ? null : whole
}

function readable(raw: string): boolean {
  return raw.startsWith('/') && raw.length <= RAW_LIMIT_CHARS && raw.isWellFormed() && !CONTROL.test(raw)
}

function split(raw: string): [path: string, query: string] {
  const hash = raw.indexOf('#')
  const reference = hash === -1 ? raw : raw.slice(0, hash)
  const mark = reference.indexOf('?')
  return mark === -1 ? [reference, ''] : [reference.slice(0, mark), reference.slice(mark + 1)]
}

/** One spelling of each character (RFC 3986, 6.2.2.1 and 6.2.2.2). A lone `%` means itself. */
function spell(text: string, foreign: RegExp): string {
  return text.replace(foreign, (found) => {
    if (found.length !== 3 || !found.startsWith('%')) return encodeURIComponent(found)
    const character = String.fromCharCode(Number.parseInt(found.slice(1), 16))
    return UNRESERVED.test(character) ? character : found.toUpperCase()
  })
}

/** RFC 3986, 5.2.4. Empty segments stay; nothing climbs above the root. */
function withoutDotSegments(path: string): string {
  if (!path.includes('/.')) return path
  const segments = path.split('/').slice(1)
  const kept: string[] = []
  for (const [index, segment] of segments.entries()) {
    const dots = segment === '.' || segment === '..'
    if (segment === '..') kept.pop()
    if (!dots) kept.push(segment)
    else if (index === segments.length - 1) kept.push('')
  }
  return `/${kept.join('/')}`
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
