import { decoded, type HtmlListener, scanHtml } from './scan-html.ts'

/** Content of a page; every list and text is bounded. */
export type PageFacts = {
  title: string | null
  description: string | null
  canonical: string | null
  robots: string | null
  lang: string | null
  headings: string[]
  text: string[]
  /** Of the whole text, before the limit. */
  textChars: number
  /** Each address once; without the origin if it is the site's own. */
  links: { href: string; text: string }[]
  linkCount: number
  structured: { kind: 'json-ld' | 'microdata'; types: string[]; json: string; isBroken: boolean }[]
  /** `og:title`, `twitter:card` and the like, the first of each. */
  social: Record<string, string>
}

type FactLimits = { textChars: number; links: number; structuredChars: number }

export const WHOLE_FACTS: FactLimits = { textChars: 100_000, links: 1_000, structuredChars: 40_000 }
export const DIGEST_FACTS: FactLimits = { textChars: 20_000, links: 300, structuredChars: 8_000 }

const VALUE_CHARS = 2_000
const HEADINGS = 20
const SOCIAL_NAMES = 40
const STRUCTURED = 20
/** Longer lines are split, so that a difference in one stays readable. */
const LINE_CHARS = 1_000

const BLOCK = new Set(
  'address article aside blockquote body br button caption dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li legend main nav ol option p pre section select summary table tbody td tfoot th thead tr ul'.split(
    ' ',
  ),
)

/** `html` as serialized by a browser; `url`: the base of relative links. */
export function factsOf(html: string, url: string, limits: FactLimits = WHOLE_FACTS): PageFacts {
  const reader = new FactsReader(url, limits)
  scanHtml(html, reader)
  return reader.end()
}

class FactsReader implements HtmlListener {
  readonly #facts: PageFacts = {
    title: null,
    description: null,
    canonical: null,
    robots: null,
    lang: null,
    headings: [],
    text: [],
    textChars: 0,
    links: [],
    linkCount: 0,
    structured: [],
    social: {},
  }
  readonly #url: string
  readonly #ownHost: string | undefined
  readonly #limits: FactLimits
  readonly #known = new Set<string>()
  readonly #types = new Set<string>()
  #base: string
  #keptChars = 0
  #structuredChars = 0
  #line: string[] = []
  #heading: string[] | null = null
  #link: { href: string; parts: string[] } | null = null
  #isJsonLd = false

  constructor(url: string, limits: FactLimits) {
    this.#url = url
    this.#base = url
    this.#ownHost = URL.parse(url)?.host
    this.#limits = limits
  }

  text(text: string): void {
    this.#line.push(text)
    this.#heading?.push(text)
    // Limit for links around half a page.
    if (this.#link !== null && this.#link.parts.length < 50) this.#link.parts.push(text)
  }

  open(name: string, attribute: (name: string) => string | null, has: (text: string) => boolean): void {
    if (BLOCK.has(name)) this.#endLine()
    if (has(' itemtype="') && this.#types.size < 50) this.#types.add(short(attribute('itemtype') ?? '', 200))
    switch (name) {
      case 'html':
        this.#facts.lang ??= attribute('lang')?.slice(0, 50) ?? null
        return
      case 'base':
        this.#base = URL.parse(attribute('href') ?? '', this.#url)?.href ?? this.#base
        return
      case 'meta':
        this.#meta((attribute('name') ?? attribute('property') ?? '').toLowerCase(), attribute('content'))
        return
      case 'link':
        if (attribute('rel')?.toLowerCase() === 'canonical') {
          const href = attribute('href')
          this.#facts.canonical ??= href && (URL.parse(href, this.#base)?.href ?? href).slice(0, VALUE_CHARS)
        }
        return
      case 'h1':
      case 'h2':
        this.#heading = []
        return
      case 'a':
        this.#beginLink(attribute('href'))
        return
      case 'img':
        this.#link?.parts.push(attribute('alt') ?? '')
        return
      case 'script':
        this.#isJsonLd = attribute('type')?.trim().toLowerCase() === 'application/ld+json'
    }
  }

  raw(name: string, contents: string): void {
    if (name === 'title') this.#facts.title ??= short(decoded(contents), VALUE_CHARS)
    if (name === 'script' && this.#isJsonLd) this.#jsonLd(contents)
  }

  close(name: string): void {
    if (BLOCK.has(name)) this.#endLine()
    if (name === 'a') this.#endLink()
    if ((name === 'h1' || name === 'h2') && this.#heading !== null) {
      const text = short(this.#heading.join(''), 300)
      if (text !== '' && this.#facts.headings.length < HEADINGS) this.#facts.headings.push(`${name}: ${text}`)
      this.#heading = null
    }
  }

  end(): PageFacts {
    this.#endLine()
    this.#endLink()
    if (this.#types.size > 0) {
      this.#facts.structured.push({ kind: 'microdata', types: [...this.#types], json: '', isBroken: false })
    }
    return this.#facts
  }

  #endLine(): void {
    if (this.#line.length === 0) return
    const text = this.#line.join('').replace(/\s+/g, ' ').trim()
    this.#line = []
    this.#facts.textChars += text.length
    const most = this.#limits.textChars
    for (let at = 0; at < text.length && this.#keptChars < most; at += LINE_CHARS) {
      const piece = text.slice(at, Math.min(at + LINE_CHARS, at + most - this.#keptChars))
      this.#facts.text.push(piece)
      this.#keptChars += piece.length
    }
  }

  #beginLink(raw: string | null): void {
    this.#endLink()
    // Parsing an address costs more than the rest of its tag.
    if (this.#facts.links.length >= this.#limits.links) {
      if (raw !== null && !/^\s*(?:javascript|mailto|tel|data):/i.test(raw)) this.#facts.linkCount++
      return
    }
    const found = raw === null ? null : URL.parse(raw, this.#base)
    if (found === null || !/^https?:$/.test(found.protocol)) return
    found.hash = ''
    const href = this.#ownHost === found.host ? found.pathname + found.search : found.href
    this.#link = { href: href.slice(0, VALUE_CHARS), parts: [] }
  }

  #endLink(): void {
    if (this.#link === null) return
    const { href, parts } = this.#link
    this.#link = null
    this.#facts.linkCount++
    if (this.#known.has(href)) return
    this.#known.add(href)
    this.#facts.links.push({ href, text: short(parts.join(''), 200) })
  }

  #meta(name: string, content: string | null): void {
    if (content === null) return
    const value = short(content, VALUE_CHARS)
    if (name === 'description') this.#facts.description ??= value
    else if (name === 'robots' || name === 'googlebot') this.#facts.robots ??= value
    else if (/^(?:og|twitter|article|product|fb):[a-z0-9:_]{1,40}$/.test(name)) {
      const names = Object.keys(this.#facts.social).length
      if (names < SOCIAL_NAMES) this.#facts.social[name] ??= value
    }
  }

  #jsonLd(contents: string): void {
    const { structured } = this.#facts
    const most = this.#limits.structuredChars
    if (structured.length >= STRUCTURED || this.#structuredChars >= most) return
    const { types, json, isBroken } = readJsonLd(contents)
    const fitting = json.slice(0, most - this.#structuredChars)
    this.#structuredChars += fitting.length
    structured.push({ kind: 'json-ld', types, json: fitting, isBroken })
  }
}

/** `types`: the first 50. */
export function readJsonLd(contents: string): { types: string[]; json: string; isBroken: boolean } {
  try {
    const value: unknown = JSON.parse(contents)
    return { types: typesOf(value), json: JSON.stringify(value, null, 2), isBroken: false }
  } catch {
    return { types: [], json: contents.trim(), isBroken: true }
  }
}

function typesOf(value: unknown): string[] {
  const things = (Array.isArray(value) ? value : [value]).slice(0, 50)
  return things
    .flatMap((thing: unknown) => {
      if (typeof thing !== 'object' || thing === null) return []
      const { '@type': type, '@graph': graph } = thing as Record<string, unknown>
      const own = (Array.isArray(type) ? type : [type]).filter((each) => typeof each === 'string')
      return [...own, ...(Array.isArray(graph) ? typesOf(graph) : [])]
    })
    .map((type) => short(type, 100))
    .slice(0, 50)
}

function short(text: string, chars: number): string {
  return text
    .slice(0, chars * 4)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, chars)
}
