import { StringDecoder } from 'node:string_decoder'

import { escapeXml, unescapeXml } from '@prepaint/contract/site-files/xml-text.ts'

/** One `<url>` or `<sitemap>`. `changedAtMs`: null when missing or unreadable. */
export type SitemapEntry = { location: string; changedAtMs: number | null }

/** The replacement for a location; null keeps it. */
type Rewrite = (location: string) => string | null

/** An address has at most 2,048 characters; an entry may contain a thousand images. */
export const ENTRY_LIMIT_CHARS = 256 * 1024

const TAG_LIMIT_CHARS = 64 * 1024

/** Only a comment and a style sheet precede the root. */
const ROOT_WITHIN_CHARS = 16 * 1024

/** Dates outside of 1970 to 9999 are ignored; PostgreSQL cannot store all of them. */
const LATEST_MS = Date.UTC(10_000, 0)

export class NotASitemap extends Error {
  override name = 'NotASitemap'
}

/** `text`: an address a line (sitemaps.org/protocol.html#otherformats). */
type Root = 'urlset' | 'sitemapindex' | 'text'

const ROOT = /<(?:[\w.-]+:)?(urlset|sitemapindex)[\s>]/
const BEGIN = /<(?:[\w.-]+:)?(?:url|sitemap)[\s>]/g
const END = /<\/(?:[\w.-]+:)?(?:url|sitemap)\s*>/g

// `<loc>`, `<image:loc>`, `<video:content_loc>`; text or CDATA. Linear time, because the origin chooses the text.
const LOC = /(<((?:[\w.-]+:)?(?:\w+_)?loc)\s*>)([^<]*)(?:<!\[CDATA\[([\s\S]{0,4096}?)\]\]>([^<]*))?<\//g
const OF_MEDIA = /_|^(?:image|video|news):/
/** An alternate in another language: `<xhtml:link rel="alternate" hreflang="de" href="..."/>`. */
const LINK = /(<(?:[\w.-]+:)?link\s[^<>]*?\bhref\s*=\s*)(["'])([^<>"']*)(?=\2)/g
/** A comment, or CDATA, which may hold the beginning of one. */
const COMMENT = /<!\[CDATA\[[\s\S]*?\]\]>|<!--[\s\S]*?-->/g
const IS_TEXT = /^\s*https?:\/\//i
const LASTMOD = /<(?!image:|video:|news:)(?:[\w.-]+:)?lastmod\s*>([^<]*)<\//

/**
 * Reads pieces of XML or text, holds at most one entry, ignores DTDs and removes comments. `rewrite` changes only
 * locations and alternates. Throws NotASitemap; entries that it has given before are whole.
 */
export class SitemapScanner {
  root: Root | null = null
  readonly #rewrite: Rewrite | null
  readonly #decoder = new StringDecoder('utf8')
  #unread = ''
  /** The beginning of a comment, and its last characters. */
  #comment = ''
  #isInEntry = false
  #written: string[] = []

  constructor(rewrite: Rewrite | null = null) {
    this.#rewrite = rewrite
  }

  write(piece: Buffer): SitemapEntry[] {
    return this.#read(this.#decoder.write(piece))
  }

  end(): SitemapEntry[] {
    const last = this.#read(this.#decoder.end())
    if (this.root === 'text') return this.#readLines(`${this.#unread}\n`, '')
    if (this.root === null) throw new NotASitemap('no urlset or sitemapindex')
    if (this.#comment !== '') throw new NotASitemap('a comment without end')
    if (this.#isInEntry) throw new NotASitemap('an entry without end')
    this.#write(this.#unread)
    return last
  }

  takeText(): string {
    const text = this.#written.join('')
    this.#written = []
    return text
  }

  #read(piece: string): SitemapEntry[] {
    if (this.root === 'text') return this.#readLines(this.#unread + piece)
    const text = this.#withoutComments(this.#unread + this.#comment + piece)
    this.#unread = text
    if (this.root === null) {
      this.root = (ROOT.exec(text)?.[1] as Root | undefined) ?? null
      if (this.root === null && IS_TEXT.test(text.replace(/^\ufeff/, ''))) {
        this.root = 'text'
        return this.#readLines(text)
      }
      if (this.root === null && text.length > ROOT_WITHIN_CHARS) {
        throw new NotASitemap('no urlset or sitemapindex')
      }
      if (this.root === null) return []
    }
    const entries: SitemapEntry[] = []
    let at = 0
    this.#isInEntry = false
    for (;;) {
      BEGIN.lastIndex = at
      const begin = BEGIN.exec(text)?.index ?? openTag(text, at)
      this.#write(text.slice(at, begin))
      at = begin
      END.lastIndex = at
      this.#isInEntry = BEGIN.lastIndex > 0
      const end = this.#isInEntry ? END.exec(text) : null
      if (end === null) break
      const entry = this.#entry(text.slice(at, END.lastIndex))
      if (entry !== null) entries.push(entry)
      at = END.lastIndex
    }
    this.#unread = text.slice(at)
    if (this.#unread.length > (this.#isInEntry ? ENTRY_LIMIT_CHARS : TAG_LIMIT_CHARS)) {
      throw new NotASitemap('an element without end')
    }
    return entries
  }

  #withoutComments(text: string): string {
    this.#comment = ''
    if (!text.includes('<!--')) return text
    const whole = text.replace(COMMENT, (found) => (found.startsWith('<!--') ? '' : found))
    const open = whole.lastIndexOf('<!--')
    if (open === -1 || whole.includes('-->', open + 4)) return whole
    const data = whole.lastIndexOf('<![CDATA[', open)
    if (data !== -1 && !whole.slice(data, open).includes(']]>')) return whole
    this.#comment = `<!--${whole.slice(open + 4).slice(-2)}`
    return whole.slice(0, open)
  }

  /** Reads whole lines, and keeps the rest. `rest`: the end of the text was reached. */
  #readLines(text: string, rest?: string): SitemapEntry[] {
    const end = text.lastIndexOf('\n') + 1
    this.#unread = rest ?? text.slice(end)
    if (this.#unread.length > TAG_LIMIT_CHARS) throw new NotASitemap('a line without end')
    const entries: SitemapEntry[] = []
    for (const line of text.slice(0, end).split(/(?<=\n)/)) {
      const location = line.replace(/^\ufeff/, '').trim()
      if (location !== '') entries.push({ location, changedAtMs: null })
      const instead = location === '' ? null : (this.#rewrite?.(location) ?? null)
      this.#write(instead === null ? line : line.replace(location, () => instead))
    }
    return entries
  }

  #write(text: string): void {
    if (this.#rewrite !== null && text !== '') this.#written.push(text)
  }

  #entry(element: string): SitemapEntry | null {
    let location: string | null = null
    let at = 0
    for (const match of element.matchAll(LOC)) {
      const [whole, , name = '', text = '', cdata] = match
      const plain = cdata === undefined ? unescapeXml(text)?.trim() : cdata.trim()
      if (plain === undefined || plain === '') continue
      if (!OF_MEDIA.test(name)) location ??= plain
      this.#write(this.#withLinks(element.slice(at, match.index)))
      this.#write(this.#rewritten(match, plain))
      at = match.index + whole.length
    }
    this.#write(this.#withLinks(element.slice(at)))
    if (location === null) return null
    const changedAtMs = Date.parse(LASTMOD.exec(element)?.[1]?.trim() ?? '')
    return { location, changedAtMs: 0 <= changedAtMs && changedAtMs < LATEST_MS ? changedAtMs : null }
  }

  #withLinks(text: string): string {
    if (this.#rewrite === null) return text
    return text.replace(LINK, (whole, before: string, quote: string, address: string) => {
      const location = unescapeXml(address)?.trim()
      const instead = location ? (this.#rewrite?.(location) ?? null) : null
      return instead === null ? whole : `${before}${quote}${escapeXml(instead)}`
    })
  }

  #rewritten([whole, before, , text = '', cdata, after = '']: RegExpExecArray, location: string): string {
    const isMixed = cdata !== undefined && (text + after).trim() !== ''
    const instead = isMixed ? null : (this.#rewrite?.(location) ?? null)
    if (instead === null) return whole
    const lead = text.slice(0, text.length - text.trimStart().length)
    const trail = cdata === undefined ? text.slice(text.trimEnd().length) : after
    return `${before}${lead}${escapeXml(instead)}${trail}</`
  }
}

/** Start of an incomplete tag, or the end of the text. */
function openTag(text: string, from: number): number {
  const tag = text.lastIndexOf('<')
  return tag < from || text.includes('>', tag) ? text.length : tag
}
