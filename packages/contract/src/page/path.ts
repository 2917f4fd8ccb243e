import type { PagePath } from '../ids.ts'
import { CHECK_PARAMETER } from './check-token.ts'
import clickTracking from './click-tracking.json' with { type: 'json' }

export type QueryRule = 'keep' | 'ignore' | readonly string[]

/** ASCII of this length fits into a PostgreSQL index entry. */
export const PATH_LIMIT_CHARS = 2_048

/**
 * Returns the one spelling of a path under which its page is stored, or null if no page is stored for it: the request
 * goes to the origin unchanged. Is idempotent. `raw` is text, not Latin-1 bytes.
 * Merges only spellings that RFC 3986 calls equivalent, and the order of differently named parameters. `/a//b`,
 * `/a/`, `%2F` and `+` stay: origins distinguish them.
 */
export function normalisePath(raw: string, query: QueryRule = 'keep'): PagePath | null {
  if (!readable(raw)) return null
  const [rawPath, rawQuery] = split(raw)

  const path = spellPath(rawPath)
  // `//host/...` would resolve to another site.
  if (path.startsWith('//')) return null

  const parameters = spellQuery(rawQuery).split('&')
  const kept = parameters.filter((parameter) => parameter !== '' && counts(nameOf(parameter), query))
  // Stable and by name only: the order of parameters with the same name is significant.
  kept.sort((a, b) => compare(nameOf(a), nameOf(b)))

  const whole = kept.length === 0 ? path : `${path}?${kept.join('&')}`
  return whole.length <= PATH_LIMIT_CHARS ? (whole as PagePath) : null
}

/**
 * The address as it was asked for, without parameters that do not count: in their order and spelling. null: it is no
 * stored path. Normalised, it is the stored path.
 */
export function spellingOf(raw: string, query: QueryRule = 'keep'): PagePath | null {
  if (!readable(raw) || raw.startsWith('//')) return null
  const [path, rawQuery] = split(raw)
  const kept = rawQuery.split('&').filter((parameter) => {
    return parameter !== '' && counts(nameOf(spellQuery(parameter)), query)
  })
  const whole = kept.length === 0 ? path : `${path}?${kept.join('&')}`
  return whole.length <= PATH_LIMIT_CHARS ? (whole as PagePath) : null
}

/** Returns the one spelling of the prefix of paths, which is given and returned without the `*`. */
export function normalisePrefix(raw: string): string | null {
  if (!readable(raw)) return null
  const [rawPath, rawQuery] = split(raw)
  const prefix = spellPath(rawPath)
  const whole = raw.includes('?') ? `${prefix}?${spellQuery(rawQuery)}` : prefix
  return whole.startsWith('//') || whole.length > PATH_LIMIT_CHARS ? null : whole
}

function counts(name: string, query: QueryRule): boolean {
  if (name === CHECK_PARAMETER) return false
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
    return name
  }
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** A longer path is not stored. Much of the input may be click tracking. */
const RAW_LIMIT_CHARS = 16_384

// Raw or percent-encoded. No page needs control characters, and they are unsafe in headers, logs and SQL.
const CONTROL = /[\x00-\x1f\x7f]|%[01][0-9a-f]|%7f/i

// RFC 3986, sections 2.3 and 3.3. No `i` flag: with `u` it would match U+017F and U+212A as s and k.
const IN_PATH = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/]/gu
const IN_QUERY = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?]/gu
const UNRESERVED = /[A-Za-z0-9\-._~]/

function readable(raw: string): boolean {
  return raw.startsWith('/') && raw.length <= RAW_LIMIT_CHARS && raw.isWellFormed() && !CONTROL.test(raw)
}

function split(raw: string): [path: string, query: string] {
  const hash = raw.indexOf('#')
  const reference = hash === -1 ? raw : raw.slice(0, hash)
  const mark = reference.indexOf('?')
  return mark === -1 ? [reference, ''] : [reference.slice(0, mark), reference.slice(mark + 1)]
}

/** RFC 3986, sections 6.2.2.1 and 6.2.2.2. A lone `%` stays as it is. */
function spell(text: string, foreign: RegExp): string {
  return text.replace(foreign, (found) => {
    if (found.length !== 3 || !found.startsWith('%')) return encodeURIComponent(found)
    const character = String.fromCharCode(Number.parseInt(found.slice(1), 16))
    return UNRESERVED.test(character) ? character : found.toUpperCase()
  })
}

/** Removes dot segments (RFC 3986, section 5.2.4). Empty segments stay; `..` cannot leave the root. */
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

function spellPath(path: string): string {
  return withoutDotSegments(spell(path, IN_PATH))
}

function spellQuery(query: string): string {
  return spell(query, IN_QUERY)
}

const CLICK_TRACKING: {
  names: Record<string, string>
  prefixes: Record<string, string>
} = clickTracking
const PREFIXES = Object.keys(CLICK_TRACKING.prefixes)

/** Removed from stored paths. A domain that needs such a parameter lists it in its `query` setting. */
function isClickTracking(name: string): boolean {
  const lower = name.toLowerCase()
  return Object.hasOwn(CLICK_TRACKING.names, lower) || PREFIXES.some((prefix) => lower.startsWith(prefix))
}

export type PageUrl = {
  scheme: 'http' | 'https'
  /** May have a port. */
  host: string
  /** The path as spelt in the URL, in ASCII; it begins with `/`. */
  path: string
}

const URL_FORM = /^(https?):\/\/([^/?#@\\\s]+)([/?][^#]*)?(?:#.*)?$/is

/** Finds the empty flag of Google's AJAX crawling scheme (2009). */
const EMPTY_ESCAPED_FRAGMENT = /([?&])_escaped_fragment_(?:=(?:&|$)|&|$)/

/** Returns null if the text is not the http or https URL of a page. */
export function parsePageUrl(text: string): PageUrl | null {
  const [, scheme = '', host = '', rest = '/'] = URL_FORM.exec(text) ?? []
  if (host === '') return null
  const path = rest.startsWith('/') ? rest : `/${rest}`
  return { scheme: scheme.toLowerCase() as PageUrl['scheme'], host, path: ascii(withoutFlag(path)) }
}

function withoutFlag(path: string): string {
  const without = path.replace(EMPTY_ESCAPED_FRAGMENT, '$1')
  return without === path ? path : without.replace(/[?&]$/, '')
}

function ascii(path: string): string {
  return path.toWellFormed().replace(/[^\x21-\x7e]+/gu, encodeURIComponent)
}

// Page resources and downloads, from the origin unless a rule renders them. Extensions such as html, php and aspx are pages.
const ASSET =
  /\.(?:js|mjs|cjs|css|map|json|jsonld|webmanifest|wasm|xml|xsl|rss|atom|txt|csv|tsv|png|jpe?g|jfif|gif|svgz?|ico|cur|webp|avif|heic|bmp|tiff?|psd|ai|eps|woff2?|ttf|otf|eot|mp[34]|m4[av]|aac|wav|flac|og[gav]|opus|weba|webm|mov|avi|wmv|flv|mpe?g|mkv|m3u8|ts|mpd|vtt|srt|pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|epub|zip|gz|tgz|bz2|xz|7z|rar|tar|br|zst|dmg|pkg|exe|msi|deb|rpm|apk|ipa|iso|bin|torrent|swf|dat|ics|vcf|ya?ml)$/i

export function isAsset(url: string): boolean {
  return ASSET.test(url.split('?', 1)[0]!)
}
