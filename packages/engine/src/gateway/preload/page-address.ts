/** `/product/red-chair?size=2` is of kind `/product/*`; its requests contain `red-chair` or `2`. */
export type PageAddress = {
  text: string
  /** Pages of a kind make similar requests. A page may have two kinds. */
  kinds: readonly string[]
  parts: ReadonlyMap<string, string>
}

/** A request's path with placeholders for parts of the page's address. */
export type PathTemplate = readonly (string | { part: string })[]

const MOST_PARTS = 16
/** Words in a request's path; longer paths get no placeholders. */
const MOST_WORDS = 64
/** Anyone can choose a page's address, so only plain words go into paths. `%` is safe: both are encoded. */
const WORD = /^[\w.~%-]{1,200}$/
/** Browsers read `%2e` as a dot too (WHATWG URL, "double-dot path segment"); origins may read `%2f` as `/`. */
const POINTS = /(?:\.|%2e){2}|^(?:\.|%2e)$/i
const BETWEEN = /([/?&=,;])/
const WITH_EXTENSION = /^(.+)(\.[a-z0-9]{1,8})$/i

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

/** Returns the page's folder, and its top folder with the depth. */
function kindsOf(segments: readonly string[]): string[] {
  const { length } = segments
  if (length === 0) return ['/']
  if (length === 1) return ['/*']
  const folder = `/${segments.slice(0, -1).join('/')}/*`
  return length === 2 ? [folder] : [folder, `/${segments[0]}${'/*'.repeat(length - 1)}`]
}

export function templateOf(path: string, page: PageAddress): PathTemplate {
  const names = new Map([...page.parts].toReversed().map(([name, value]) => [value, name]))
  const template: (string | { part: string })[] = []
  const literal = (text: string) => {
    const last = template.at(-1)
    if (typeof last === 'string') template[template.length - 1] = last + text
    else if (text !== '') template.push(text)
  }
  const words = path.split(BETWEEN)
  // Words and separators alternate.
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

/** Fills the template for another page. Returns null if its address lacks a part. */
export function fillTemplate(template: PathTemplate, { parts }: PageAddress): string | null {
  let path = ''
  for (const piece of template) {
    const text = typeof piece === 'string' ? piece : parts.get(piece.part)
    if (text === undefined) return null
    path += text
  }
  return path
}
