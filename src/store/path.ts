import type { PagePath } from '../ids.ts'

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

/**
 * The parts of a URL's path and query in the one spelling that RFC 3986 calls
 * equivalent (section 6.2.2); which of them name a page is said in `path.ts`.
 */

/** What is read at all: much of it may be click-tracking. */
const RAW_LIMIT_CHARS = 16_384

// Written out or percent-encoded. No page needs them, and headers, logs and SQL would all have to fear them.
const CONTROL = /[\x00-\x1f\x7f]|%[01][0-9a-f]|%7f/i

// RFC 3986, sections 2.3 and 3.3: what stands for itself; everything else is percent-encoded.
// No `i` flag: with `u` it would take U+017F and U+212A for an s and a k.
const IN_PATH = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/]/gu
const IN_QUERY = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?]/gu
const UNRESERVED = /[A-Za-z0-9\-._~]/

/** Whether it can be the path of a page at all. */
export function readable(raw: string): boolean {
  return raw.startsWith('/') && raw.length <= RAW_LIMIT_CHARS && raw.isWellFormed() && !CONTROL.test(raw)
}

/** Path and query; a fragment is cut off. */
export function split(raw: string): [path: string, query: string] {
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

function spellPath(path: string): string {
  return withoutDotSegments(spell(path, IN_PATH))
}

function spellQuery(query: string): string {
  return spell(query, IN_QUERY)
}

/**
 * Query parameters that say where a visitor came from and never what the page
 * shows. They are removed from a stored path, so that one page does not become
 * a page for each campaign. A domain whose pages do depend on one of them names
 * it in its `query` setting. Compared without regard to case.
 */
const NAMES: ReadonlySet<string> = new Set([
  // Google Ads, Campaign Manager, Analytics
  'gclid',
  'gclsrc',
  'gbraid',
  'wbraid',
  'dclid',
  'gad_source',
  'gad_campaignid',
  'srsltid',
  '_ga',
  '_gl',
  // Meta, TikTok, X, LinkedIn, Pinterest, Snapchat, Reddit
  'fbclid',
  'igshid',
  'igsh',
  'ttclid',
  'twclid',
  'li_fat_id',
  'epik',
  'sccid',
  'rdt_cid',
  // Microsoft, Yandex
  'msclkid',
  'yclid',
  'ysclid',
  // mail and marketing suites
  'mc_cid',
  'mc_eid',
  '_hsenc',
  '_hsmi',
  '__hssc',
  '__hstc',
  '__hsfp',
  'hsctatracking',
  'mkt_tok',
  'vero_id',
  'oly_anon_id',
  'oly_enc_id',
  '_kx',
  'ml_subscriber',
  'ml_subscriber_hash',
  'wickedid',
  's_kwcid',
  'irclickid',
])

const PREFIXES = ['utm_', 'mtm_', 'pk_', 'matomo_']

/** `name`: of one query parameter, decoded. */
function isClickTracking(name: string): boolean {
  const lower = name.toLowerCase()
  return NAMES.has(lower) || PREFIXES.some((prefix) => lower.startsWith(prefix))
}

/** A page by its URL, as those name it who do not know how we store it. */
export type PageUrl = {
  scheme: 'http' | 'https'
  /** As in a `Host` header: it may have a port. */
  host: string
  /** Path and query as they were spelt, beginning with `/`; ASCII. */
  path: string
}

/** Scheme, `://`, a host without user and password; then a path, a query, or nothing. */
const URL_FORM = /^(https?):\/\/([^/?#@\\\s]+)([/?][^#]*)?(?:#.*)?$/is

/** Left over from a scheme of 2009 by which crawlers asked for finished pages. */
const EMPTY_ESCAPED_FRAGMENT = /([?&])_escaped_fragment_(?:=(?:&|$)|&|$)/

/**
 * Takes `https://host/path?query` apart. The path stays as it is spelt, but for
 * what no request line can carry and an `_escaped_fragment_` that says nothing;
 * a fragment is cut off. null: not the http or https URL of a page.
 */
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
