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

export function spellPath(path: string): string {
  return withoutDotSegments(spell(path, IN_PATH))
}

export function spellQuery(query: string): string {
  return spell(query, IN_QUERY)
}
