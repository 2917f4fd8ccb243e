import { decoded, scanHtml } from './scan-html.ts'

/** What a page says, as far as it is looked at: every list and text is bounded. */
export type PageFacts = {
  title: string | null
  description: string | null
  /** Absolute. */
  canonical: string | null
  robots: string | null
  lang: string | null
  headings: string[]
  /** As a reader finds it, a line for each block. */
  text: string[]
  /** Of the whole text, also of what is cut off in `text`. */
  textChars: number
  /** Each address once: within the site without its origin. */
  links: { href: string; text: string }[]
  linkCount: number
  /** JSON-LD, and the types that microdata names. */
  structured: { kind: 'json-ld' | 'microdata'; types: string[]; json: string; isBroken: boolean }[]
  /** `og:title`, `twitter:card` and the like, the first of each. */
  social: Record<string, string>
}

/** How much of it is kept. */
type FactLimits = { textChars: number; links: number; structuredChars: number }

/** For whoever looks at a page now. */
export const WHOLE_FACTS: FactLimits = { textChars: 100_000, links: 1_000, structuredChars: 40_000 }
/** For the history of a page. */
export const DIGEST_FACTS: FactLimits = { textChars: 20_000, links: 300, structuredChars: 8_000 }

const VALUE_CHARS = 2_000
const HEADINGS = 20
const SOCIAL_NAMES = 40
const STRUCTURED = 20
/** A line is cut into pieces of this size, so that a difference in one stays readable. */
const LINE_CHARS = 1_000

/** Elements around which a line ends. */
const BLOCK = new Set(
  'address article aside blockquote body br button caption dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li legend main nav ol option p pre section select summary table tbody td tfoot th thead tr ul'.split(
    ' ',
  ),
)

/** Reads a document as a browser has written it out; `url`: its own address, that links are relative to. */
export function factsOf(html: string, url: string, limits: FactLimits = WHOLE_FACTS): PageFacts {
  const facts: PageFacts = {
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
  const ownHost = URL.parse(url)?.host
  let base = url
  let kept = 0
  let structuredChars = 0
  let line: string[] = []
  let heading: string[] | null = null
  let link: { href: string; parts: string[] } | null = null
  let isJsonLd = false
  const known = new Set<string>()
  const types = new Set<string>()

  const endLine = () => {
    if (line.length === 0) return
    const text = line.join('').replace(/\s+/g, ' ').trim()
    line = []
    if (text === '') return
    facts.textChars += text.length
    for (let at = 0; at < text.length && kept < limits.textChars; at += LINE_CHARS) {
      const piece = text.slice(at, Math.min(at + LINE_CHARS, at + limits.textChars - kept))
      facts.text.push(piece)
      kept += piece.length
    }
  }
  const endLink = () => {
    if (link === null) return
    const { href, parts } = link
    link = null
    facts.linkCount++
    if (known.has(href)) return
    known.add(href)
    facts.links.push({ href, text: short(parts.join(''), 200) })
  }

  scanHtml(html, {
    text(text) {
      line.push(text)
      heading?.push(text)
      // A link around half a page is still one link.
      if (link !== null && link.parts.length < 50) link.parts.push(text)
    },
    open(name, attribute, has) {
      if (BLOCK.has(name)) endLine()
      if (has(' itemtype="') && types.size < 50) types.add(short(attribute('itemtype') ?? '', 200))
      switch (name) {
        case 'html':
          facts.lang ??= attribute('lang')?.slice(0, 50) ?? null
          return
        case 'base':
          base = URL.parse(attribute('href') ?? '', url)?.href ?? base
          return
        case 'meta':
          return meta((attribute('name') ?? attribute('property') ?? '').toLowerCase(), attribute('content'))
        case 'link':
          if (attribute('rel')?.toLowerCase() === 'canonical') {
            const href = attribute('href')
            facts.canonical ??= href && (URL.parse(href, base)?.href ?? href).slice(0, VALUE_CHARS)
          }
          return
        case 'h1':
        case 'h2':
          heading = []
          return
        case 'a': {
          endLink()
          const raw = attribute('href')
          // To parse an address costs more than all the rest of its tag.
          if (facts.links.length >= limits.links) {
            if (raw !== null && !/^\s*(?:javascript|mailto|tel|data):/i.test(raw)) facts.linkCount++
            return
          }
          const href = address(raw)
          if (href !== null) link = { href, parts: [] }
          return
        }
        case 'img':
          // What it says instead of a picture is what a link around it says.
          link?.parts.push(attribute('alt') ?? '')
          return
        case 'script':
          isJsonLd = attribute('type')?.trim().toLowerCase() === 'application/ld+json'
      }
    },
    raw(name, contents) {
      if (name === 'title') facts.title ??= short(decoded(contents), VALUE_CHARS)
      if (name === 'script' && isJsonLd) jsonLd(contents)
    },
    close(name) {
      if (BLOCK.has(name)) endLine()
      if (name === 'a') endLink()
      if ((name === 'h1' || name === 'h2') && heading !== null) {
        const text = short(heading.join(''), 300)
        if (text !== '' && facts.headings.length < HEADINGS) facts.headings.push(`${name}: ${text}`)
        heading = null
      }
    },
  })
  endLine()
  endLink()
  if (types.size > 0) {
    facts.structured.push({ kind: 'microdata', types: [...types], json: '', isBroken: false })
  }
  return facts

  function meta(name: string, content: string | null): void {
    if (content === null) return
    const value = short(content, VALUE_CHARS)
    if (name === 'description') facts.description ??= value
    else if (name === 'robots' || name === 'googlebot') facts.robots ??= value
    else if (/^(?:og|twitter|article|product|fb):[a-z0-9:_]{1,40}$/.test(name)) {
      const names = Object.keys(facts.social).length
      if (names < SOCIAL_NAMES) facts.social[name] ??= value
    }
  }

  function address(href: string | null): string | null {
    const found = href === null ? null : URL.parse(href, base)
    if (found === null || !/^https?:$/.test(found.protocol)) return null
    found.hash = ''
    return (ownHost === found.host ? found.pathname + found.search : found.href).slice(0, VALUE_CHARS)
  }

  function jsonLd(contents: string): void {
    if (facts.structured.length >= STRUCTURED || structuredChars >= limits.structuredChars) return
    const { types: named, json, isBroken } = readJsonLd(contents)
    const fitting = json.slice(0, limits.structuredChars - structuredChars)
    structuredChars += fitting.length
    facts.structured.push({ kind: 'json-ld', types: named, json: fitting, isBroken })
  }
}

function readJsonLd(contents: string): { types: string[]; json: string; isBroken: boolean } {
  try {
    const value: unknown = JSON.parse(contents)
    return { types: typesOf(value), json: JSON.stringify(value, null, 2), isBroken: false }
  } catch {
    return { types: [], json: contents.trim(), isBroken: true }
  }
}

/** Of what stands at the top, and in a graph there. */
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
