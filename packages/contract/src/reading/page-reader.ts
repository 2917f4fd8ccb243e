import { type JsonLd, readJsonLd } from './json-ld.ts'
import type { PageReading } from './page-reading.ts'
import { addRobotsMeta } from './robots.ts'
import { attributeOf, decodeText, type HtmlListener, scanHtml, writtenAttributeOf } from './scan-html.ts'
import { oneLine, shortLine } from './short-line.ts'
import { WORDS_LIMIT, wordsOfText } from './words.ts'

export const VALUE_CHARS = 2_000
export const EXCERPT_CHARS = 400
const LANGUAGE_CHARS = 50
const HEADING_CHARS = 300
const HEADINGS = 20
const SOCIAL_NAMES = 40
const JSON_LD_SCRIPTS = 20
const STRUCTURED_TYPES = 50
/** Parsing an address costs more than the rest of its tag. Further links count by their scheme. */
const PARSED_LINKS = 1_000

const SOCIAL = /^(?:og|twitter|article|product|fb):[a-z0-9:_]{1,40}$/
const MEDIA = new Set(['img', 'source', 'video', 'audio', 'iframe', 'embed'])

/** Takes whole texts and links on the way. Called in document order, with the base of relative addresses as it is known then. */
export type ContentsListener = {
  text(text: string): void
  open(name: string, tag: string, base: string): void
  close(name: string): void
  title(written: string): void
  jsonLd(read: JsonLd, written: string): void
}

/**
 * The one reader of a page's HTML as a browser serializes it. `url` is the page's public address, `sha256` gives a hash
 * in hexadecimal. Use `readPage` of `@prepaint/runtime`, which has one.
 */
export function readingOf(html: string, url: string, sha256: (text: string) => string): PageReading {
  const reader = new PageReader(url)
  scanHtml(html, reader)
  return reader.reading(sha256)
}

/** All text that the page shows, on one line. */
export function textOf(html: string): string {
  const reader = new PageReader('')
  scanHtml(html, reader)
  return reader.wholeText()
}

export class PageReader implements HtmlListener {
  readonly #url: string
  readonly #contents: ContentsListener | null
  readonly #robots: PageReading['robots'] = { all: null, byCrawler: {} }
  readonly #headings: string[] = []
  readonly #social: Record<string, string> = {}
  readonly #structuredTypes = new Set<string>()
  readonly #canonicals: string[] = []
  readonly #media: string[] = []
  #parts: string[] = []
  #title: string | null = null
  #writtenTitle = ''
  #description: string | null = null
  #language: string | null = null
  #hasBase = false
  #base: string | null = null
  #links = 0
  #hasOwnMarkdown = false
  #heading: string[] | null = null
  #scripts = 0
  #isJsonLd = false
  #drawings = 0
  #isBody = false

  constructor(url: string, contents: ContentsListener | null = null) {
    this.#url = url
    this.#contents = contents
  }

  text(text: string): void {
    const line = oneLine(text)
    if (line !== '') this.#parts.push(line)
    this.#heading?.push(text)
    this.#contents?.text(text)
  }

  open(name: string, tag: string): void {
    switch (name) {
      case 'html':
        this.#language ??= oneLine(attributeOf(tag, 'lang') ?? '').slice(0, LANGUAGE_CHARS) || null
        break
      case 'body':
        // Only the first one is an element.
        if (!this.#isBody) this.#parts = []
        this.#isBody = true
        break
      case 'base':
        this.#readBase(attributeOf(tag, 'href'))
        break
      case 'meta':
        this.#readMeta(tag)
        break
      case 'link':
        this.#readLinkElement(tag)
        break
      case 'h1':
      case 'h2':
        this.#heading = []
        break
      case 'a':
        if (this.#isLink(attributeOf(tag, 'href'))) this.#links++
        break
      case 'script':
        this.#isJsonLd = attributeOf(tag, 'type')?.trim().toLowerCase() === 'application/ld+json'
        break
      case 'svg':
        if (!tag.endsWith('/>')) this.#drawings++
        break
      default:
        if (MEDIA.has(name)) this.#addMedia(tag)
    }
    this.#contents?.open(name, tag, this.#base ?? this.#url)
  }

  raw(name: string, contents: string): void {
    if (name === 'title' && this.#drawings === 0) this.#readTitle(contents)
    else if (name === 'script' && this.#isJsonLd) this.#readJsonLd(contents)
  }

  close(name: string): void {
    if (name === 'svg') this.#drawings = Math.max(0, this.#drawings - 1)
    else if ((name === 'h1' || name === 'h2') && this.#heading !== null) {
      const text = shortLine(this.#heading.join(''), HEADING_CHARS)
      if (text !== '' && this.#headings.length < HEADINGS) this.#headings.push(`${name}: ${text}`)
      this.#heading = null
    }
    this.#contents?.close(name)
  }

  /** Call after the last tag. */
  head(): Omit<PageReading, 'excerpt' | 'textChars' | 'textHash' | 'words'> {
    return {
      title: this.#title,
      description: this.#description,
      language: this.#language,
      canonical: firstAddress(this.#canonicals, this.#base ?? this.#url),
      base: this.#base,
      robots: this.#robots,
      headings: this.#headings,
      social: this.#social,
      structuredTypes: [...this.#structuredTypes].slice(0, STRUCTURED_TYPES),
      links: this.#links,
      hasOwnMarkdown: this.#hasOwnMarkdown,
    }
  }

  /** Call after the last tag. */
  wholeText(): string {
    return this.#parts.join(' ')
  }

  /** Call after the last tag. */
  reading(sha256: (text: string) => string): PageReading {
    const text = this.wholeText()
    // The title counts as it is written: the hashes that 0.2.0 stored stay valid.
    const hashed = [this.#writtenTitle, this.#description ?? '', text].map(oneLine).join('\n')
    return {
      ...this.head(),
      excerpt: text.slice(0, EXCERPT_CHARS),
      textChars: text.length,
      textHash: sha256(hashed),
      words: wordsOfText(text, this.#media),
    }
  }

  #readBase(href: string | null): void {
    // HTML, "document base URL": the first element with an `href` counts, even if it cannot be parsed.
    if (href === null || this.#hasBase) return
    this.#hasBase = true
    const base = URL.parse(href, this.#url)?.href ?? null
    if (base !== null && base.length <= VALUE_CHARS) this.#base = base
  }

  #readTitle(written: string): void {
    if (this.#title !== null) return
    this.#contents?.title(written)
    this.#title = shortLine(decodeText(written), VALUE_CHARS) || null
    if (this.#title !== null) this.#writtenTitle = written
  }

  #readMeta(tag: string): void {
    const content = attributeOf(tag, 'content')
    if (content === null) return
    const name = (attributeOf(tag, 'name') ?? '').trim().toLowerCase()
    const value = shortLine(content, VALUE_CHARS)
    if (name === 'description') this.#description ??= value || null
    else if (name !== '') addRobotsMeta(this.#robots, name, value)
    const social = name === '' ? (attributeOf(tag, 'property') ?? '').trim().toLowerCase() : name
    if (!SOCIAL.test(social)) return
    if (Object.keys(this.#social).length < SOCIAL_NAMES) this.#social[social] ??= value
  }

  #readLinkElement(tag: string): void {
    const href = attributeOf(tag, 'href')
    if (href === null) return
    const tokens = (attributeOf(tag, 'rel') ?? '').toLowerCase().split(/\s+/)
    // Google reads this one in the head only; browsers move what does not belong there into the body.
    if (!this.#isBody && tokens.includes('canonical')) this.#canonicals.push(href)
    if (tokens.includes('alternate') && isMarkdown(attributeOf(tag, 'type'))) this.#hasOwnMarkdown = true
  }

  #readJsonLd(written: string): void {
    if (++this.#scripts > JSON_LD_SCRIPTS) return
    const read = readJsonLd(written)
    for (const type of read.types) this.#structuredTypes.add(type)
    this.#contents?.jsonLd(read, written)
  }

  #isLink(href: string | null): boolean {
    if (href === null) return false
    const scheme = /^\s*([a-z][a-z0-9+.-]*):/i.exec(href)?.[1]?.toLowerCase()
    if (scheme === undefined) return true
    if (scheme !== 'http' && scheme !== 'https') return false
    return this.#links >= PARSED_LINKS || URL.canParse(href, this.#url)
  }

  #addMedia(tag: string): void {
    // One more than the limit says that there are too many.
    if (this.#media.length <= WORDS_LIMIT) this.#media.push(writtenAttributeOf(tag, 'src') ?? '')
  }
}

function isMarkdown(type: string | null): boolean {
  return /^\s*text\/markdown\s*(?:;|$)/i.test(type ?? '')
}

/** The first one of http or https. One that is too long is none: cut, it would be another page's. */
function firstAddress(hrefs: readonly string[], base: string): string | null {
  for (const href of hrefs) {
    const url = URL.parse(href, base)
    if (url !== null && /^https?:$/.test(url.protocol) && url.href.length <= VALUE_CHARS) return url.href
  }
  return null
}
