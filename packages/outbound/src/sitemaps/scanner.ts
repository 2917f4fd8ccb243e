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

type Root = 'urlset' | 'sitemapindex'

const ROOT = /<(?:[\w.-]+:)?(urlset|sitemapindex)[\s>]/
const BEGIN = /<(?:[\w.-]+:)?(?:url|sitemap)[\s>]/g
const END = /<\/(?:[\w.-]+:)?(?:url|sitemap)\s*>/g

// `<loc>`, `<image:loc>`, `<video:content_loc>`; text or CDATA. Linear time, because the origin chooses the text.
const LOC = /(<((?:[\w.-]+:)?(?:\w+_)?loc)\s*>)([^<]*)(?:<!\[CDATA\[([\s\S]{0,4096}?)\]\]>([^<]*))?<\//g
const OF_MEDIA = /_|^(?:image|video|news):/
const LASTMOD = /<(?!image:|video:|news:)(?:[\w.-]+:)?lastmod\s*>([^<]*)<\//

/** Reads pieces, holds at most one entry, ignores DTDs. `rewrite` changes only locations. Throws NotASitemap. */
export class SitemapScanner {
  root: Root | null = null
  readonly #rewrite: Rewrite | null
  readonly #decoder = new StringDecoder('utf8')
  #unread = ''
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
    if (this.root === null) throw new NotASitemap('no urlset or sitemapindex')
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
    this.#unread += piece
    const text = this.#unread
    if (this.root === null) {
      this.root = (ROOT.exec(text)?.[1] as Root | undefined) ?? null
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
      this.#write(element.slice(at, match.index))
      this.#write(this.#rewritten(match, plain))
      at = match.index + whole.length
    }
    this.#write(element.slice(at))
    if (location === null) return null
    const changedAtMs = Date.parse(LASTMOD.exec(element)?.[1]?.trim() ?? '')
    return { location, changedAtMs: 0 <= changedAtMs && changedAtMs < LATEST_MS ? changedAtMs : null }
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
