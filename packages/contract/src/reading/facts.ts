import type { JsonLd } from './json-ld.ts'
import { type ContentsListener, PageReader, VALUE_CHARS } from './page-reader.ts'
import { robotsText } from './robots.ts'
import { attributeOf, decodeText, scanHtml } from './scan-html.ts'
import { shortLine } from './short-line.ts'

/** A page's reading with its texts, links and structured data, for people; every list and text is bounded. */
export type PageFacts = {
  title: string | null
  description: string | null
  canonical: string | null
  /** Is written as the value of an `X-Robots-Tag` header: `index, googlebot: noindex`. */
  robots: string | null
  lang: string | null
  headings: string[]
  text: string[]
  /** The length of all lines of text, before the limit. */
  textChars: number
  /** Has each address once, and without the origin if that is the site's own. */
  links: { href: string; text: string }[]
  linkCount: number
  structured: { kind: 'json-ld' | 'microdata'; types: string[]; json: string; isBroken: boolean }[]
  /** `og:title`, `twitter:card` and the like, the first of each. */
  social: Record<string, string>
}

type FactLimits = { textChars: number; links: number; structuredChars: number }

export const WHOLE_FACTS: FactLimits = { textChars: 100_000, links: 1_000, structuredChars: 40_000 }
export const DIGEST_FACTS: FactLimits = { textChars: 20_000, links: 300, structuredChars: 8_000 }

const LINK_CHARS = 200
const MICRODATA_TYPES = 50
/** Longer lines are split, so that a difference in one stays readable. */
const LINE_CHARS = 1_000

const BLOCK = new Set(
  'address article aside blockquote body br button caption dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li legend main nav ol option p pre section select summary table tbody td tfoot th thead tr ul'.split(
    ' ',
  ),
)

/** Reads `html` as serialized by a browser. `url` is the base of relative links. */
export function factsOf(html: string, url: string, limits: FactLimits = WHOLE_FACTS): PageFacts {
  return readContents(html, url, limits).facts
}

/**
 * `head` has lines such as `robots: noindex`: the title, and what crawlers read of the `meta` and `link` elements of
 * the head.
 */
export type PageContents = { facts: PageFacts; head: string[] }

export function readContents(html: string, url: string, limits: FactLimits): PageContents {
  const contents = new ContentsReader(url, limits)
  const page = new PageReader(url, contents)
  scanHtml(html, page)
  contents.end()
  const { title, description, canonical, robots, language, headings, links, social } = page.head()
  const facts = {
    title,
    description,
    canonical,
    robots: robotsText(robots),
    lang: language,
    headings,
    text: contents.lines,
    textChars: contents.textChars,
    links: contents.links,
    linkCount: links,
    structured: contents.structured,
    social,
  }
  return { facts, head: contents.head }
}

class ContentsReader implements ContentsListener {
  readonly lines: string[] = []
  readonly links: PageFacts['links'] = []
  readonly structured: PageFacts['structured'] = []
  readonly head: string[] = []
  textChars = 0
  readonly #ownHost: string | undefined
  readonly #limits: FactLimits
  readonly #known = new Set<string>()
  readonly #microdata = new Set<string>()
  #keptChars = 0
  #structuredChars = 0
  #line: string[] = []
  #link: { href: string; parts: string[] } | null = null
  #isBody = false

  constructor(url: string, limits: FactLimits) {
    this.#ownHost = URL.parse(url)?.host
    this.#limits = limits
  }

  text(text: string): void {
    this.#line.push(text)
    // Limit for links around half a page.
    if (this.#link !== null && this.#link.parts.length < 50) this.#link.parts.push(text)
  }

  open(name: string, tag: string, base: string): void {
    if (BLOCK.has(name)) this.#endLine()
    if (this.#microdata.size < MICRODATA_TYPES && tag.includes(' itemtype="'))
      this.#microdata.add(shortLine(attributeOf(tag, 'itemtype') ?? '', 200))
    if (name === 'body') this.#isBody = true
    else if (name === 'a') this.#beginLink(attributeOf(tag, 'href'), base)
    else if (name === 'img') this.#link?.parts.push(attributeOf(tag, 'alt') ?? '')
    else if (!this.#isBody && (name === 'meta' || name === 'link')) this.#addHeadLine(name, tag)
  }

  title(written: string): void {
    if (!this.#isBody) this.head.push(`title: ${decodeText(written).trim()}`)
  }

  close(name: string): void {
    if (BLOCK.has(name)) this.#endLine()
    if (name === 'a') this.#endLink()
  }

  jsonLd({ types, value, isBroken }: JsonLd, written: string): void {
    const left = this.#limits.structuredChars - this.#structuredChars
    if (left <= 0) return
    const json = (isBroken ? written.trim() : JSON.stringify(value, null, 2)).slice(0, left)
    this.#structuredChars += json.length
    this.structured.push({ kind: 'json-ld', types, json, isBroken })
  }

  end(): void {
    this.#endLine()
    this.#endLink()
    if (this.#microdata.size > 0)
      this.structured.push({ kind: 'microdata', types: [...this.#microdata], json: '', isBroken: false })
  }

  #addHeadLine(element: 'meta' | 'link', tag: string): void {
    if (element === 'meta') {
      const name = attributeOf(tag, 'name') ?? attributeOf(tag, 'property') ?? attributeOf(tag, 'http-equiv')
      if (name !== null) this.head.push(`${name}: ${attributeOf(tag, 'content') ?? ''}`)
      return
    }
    const rel = attributeOf(tag, 'rel')
    const isForBrowsers = rel === null || /stylesheet|preload|preconnect|prefetch/i.test(rel)
    if (!isForBrowsers) this.head.push(`${rel}: ${attributeOf(tag, 'href') ?? ''}`)
  }

  #endLine(): void {
    if (this.#line.length === 0) return
    const text = this.#line.join('').replace(/\s+/g, ' ').trim()
    this.#line = []
    this.textChars += text.length
    const most = this.#limits.textChars
    for (let at = 0; at < text.length && this.#keptChars < most; at += LINE_CHARS) {
      const piece = text.slice(at, Math.min(at + LINE_CHARS, at + most - this.#keptChars))
      this.lines.push(piece)
      this.#keptChars += piece.length
    }
  }

  #beginLink(raw: string | null, base: string): void {
    this.#endLink()
    if (raw === null || this.links.length >= this.#limits.links) return
    const found = URL.parse(raw, base)
    if (found === null || !/^https?:$/.test(found.protocol)) return
    found.hash = ''
    const href = this.#ownHost === found.host ? found.pathname + found.search : found.href
    this.#link = { href: href.slice(0, VALUE_CHARS), parts: [] }
  }

  #endLink(): void {
    if (this.#link === null) return
    const { href, parts } = this.#link
    this.#link = null
    if (this.#known.has(href)) return
    this.#known.add(href)
    this.links.push({ href, text: shortLine(parts.join(''), LINK_CHARS) })
  }
}
