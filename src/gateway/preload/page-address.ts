/**
 * What tells one page of a site from others of its kind: the parts of its address. `/product/red-chair?size=2` is of the
 * kind `/product/*`, and what its scripts ask for bears `red-chair` or `2` where another product's bears its own.
 */
export type PageAddress = {
  /** Path and query, as the browser asked for them. */
  text: string
  /** Pages of one kind ask for alike things; one page may be of two. */
  kinds: readonly string[]
  /** Values by the names of their places. */
  parts: ReadonlyMap<string, string>
}

/** A request's path, with places for parts of the page's address. */
export type PathTemplate = readonly (string | { part: string })[]

const MOST_PARTS = 16
/** Of a request's path; one with more is taken as it is. */
const MOST_WORDS = 64
/**
 * What is put into another path may be nothing but a word there: anybody can choose a page's address.
 * With `%`, as both are encoded.
 */
const WORD = /^[\w.~%-]{1,200}$/
/** A browser takes `%2e` for a point too (WHATWG URL, "double-dot path segment"), and an origin perhaps `%2f` for `/`. */
const POINTS = /(?:\.|%2e){2}|^(?:\.|%2e)$/i
/** Between words of a path and its query. */
const BETWEEN = /([/?&=,;])/
const WITH_EXTENSION = /^(.+)(\.[a-z0-9]{1,8})$/i

/** Of the path and query that the document was asked for with. */
export function readPageAddress(text: string): PageAddress {
  const [pathname = '', query = ''] = text.split(/\?(.*)/s)
  const segments = pathname.split('/').filter((segment) => segment !== '')
  const parts = new Map<string, string>()
  const add = (name: string, value: string) => {
    if (WORD.test(value) && !POINTS.test(value)) parts.set(name, value)
  }
  for (const [index, segment] of segments.slice(-MOST_PARTS).entries()) add(`segment ${index}`, segment)
  const last = segments.at(-1)
  const stem = last === undefined ? null : WITH_EXTENSION.exec(last)
  if (stem !== null) add('stem', stem[1]!)
  if (segments.length > 0) add('path', encodeURIComponent(pathname))
  for (const pair of query.split('&').slice(0, MOST_PARTS)) {
    const at = pair.indexOf('=')
    if (at > 0) add(`query ${pair.slice(0, at)}`, pair.slice(at + 1))
  }
  return { text, kinds: kindsOf(segments), parts }
}

/** By the folder it is in, and by the first of its folders and how deep it is. */
function kindsOf(segments: readonly string[]): string[] {
  const { length } = segments
  if (length === 0) return ['/']
  if (length === 1) return ['/*']
  const folder = `/${segments.slice(0, -1).join('/')}/*`
  return length === 2 ? [folder] : [folder, `/${segments[0]}${'/*'.repeat(length - 1)}`]
}

/** The path of a request, with places for all in it that the page's address has too. */
export function templateOf(path: string, page: PageAddress): PathTemplate {
  const names = new Map([...page.parts].toReversed().map(([name, value]) => [value, name]))
  const template: (string | { part: string })[] = []
  const literal = (text: string) => {
    const last = template.at(-1)
    if (typeof last === 'string') template[template.length - 1] = last + text
    else if (text !== '') template.push(text)
  }
  const words = path.split(BETWEEN)
  // Between two words stands what is between them.
  if (words.length > 2 * MOST_WORDS - 1) return [path]
  for (const word of words) {
    const [, stem = '', extension = ''] = WITH_EXTENSION.exec(word) ?? []
    const whole = names.get(word)
    const part = whole ?? names.get(stem)
    if (part === undefined) {
      literal(word)
      continue
    }
    template.push({ part })
    if (whole === undefined) literal(extension)
  }
  return template
}

/** The path of such a request of another page; null: its address lacks a part. */
export function fillTemplate(template: PathTemplate, { parts }: PageAddress): string | null {
  let path = ''
  for (const piece of template) {
    const text = typeof piece === 'string' ? piece : parts.get(piece.part)
    if (text === undefined) return null
    path += text
  }
  return path
}
