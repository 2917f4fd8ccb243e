import { StringDecoder } from 'node:string_decoder'

import { unescapeXml } from '../xml-text.ts'

/** One `<url>` or `<sitemap>`: its address as text, and its last change where it says one that can be read. */
export type SitemapEntry = { location: string; changedAtMs: number | null }

/** An address has at most 2,048 characters; with its images an entry may have a thousand of them. */
export const ENTRY_LIMIT_CHARS = 256 * 1024

/** The end of the year 9999: what a sitemap dates later, or before 1970, says nothing, and PostgreSQL does not know all of it. */
const LATEST_MS = Date.UTC(10_000, 0)

export class NotASitemap extends Error {
  override name = 'NotASitemap'
}

const ROOT = /<(?:[\w.-]+:)?(urlset|sitemapindex)[\s>]/
const BEGIN = /<(?:[\w.-]+:)?(?:url|sitemap)[\s>]/g
const END = /<\/(?:[\w.-]+:)?(?:url|sitemap)\s*>/g
/** What stands before a root may be a comment and a style sheet, no more. */
const ROOT_WITHIN_CHARS = 16 * 1024

/**
 * Reads a sitemap or an index of sitemaps piece by piece. Holds no more than
 * one entry, knows no DTD and expands only XML's five entities and numbers, so
 * that nothing in it can make it grow. Throws NotASitemap.
 */
export function createEntryScanner() {
  const decoder = new StringDecoder('utf8')
  let root: 'urlset' | 'sitemapindex' | null = null
  let held = ''

  function through(text: string): SitemapEntry[] {
    held += text
    if (root === null) {
      root = (ROOT.exec(held)?.[1] as 'urlset' | 'sitemapindex' | undefined) ?? null
      if (root === null && held.length > ROOT_WITHIN_CHARS) throw new NotASitemap('no urlset or sitemapindex')
      if (root === null) return []
    }
    const entries: SitemapEntry[] = []
    let at = 0
    for (;;) {
      BEGIN.lastIndex = at
      const begin = BEGIN.exec(held)
      if (begin === null) {
        // Half a tag may stand at the end.
        at = Math.max(at, held.length - 100)
        break
      }
      at = begin.index
      END.lastIndex = at
      const end = END.exec(held)
      if (end === null) break
      const entry = entryIn(held.slice(at, end.index))
      if (entry !== null) entries.push(entry)
      at = END.lastIndex
    }
    held = held.slice(at)
    if (held.length > ENTRY_LIMIT_CHARS) throw new NotASitemap('an entry without end')
    return entries
  }

  return {
    /** What the root element says, once it has been seen. */
    get root() {
      return root
    },
    /** Entries that end in this piece. */
    write: (piece: Buffer): SitemapEntry[] => through(decoder.write(piece)),
    /** After the last piece. */
    end(): SitemapEntry[] {
      const last = through(decoder.end())
      if (root === null) throw new NotASitemap('no urlset or sitemapindex')
      return last
    },
  }
}

function entryIn(element: string): SitemapEntry | null {
  const location = textOf(element, 'loc')
  if (location === null || location === '') return null
  const changedAtMs = Date.parse(textOf(element, 'lastmod') ?? '')
  return { location, changedAtMs: 0 <= changedAtMs && changedAtMs < LATEST_MS ? changedAtMs : null }
}

const PATTERNS = { loc: elementPattern('loc'), lastmod: elementPattern('lastmod') }

/** Plain text or one CDATA section. Nothing in it can match the same characters in two ways: the text is a stranger's. */
function elementPattern(name: string): RegExp {
  // Of images and videos the names have a prefix of their own.
  return new RegExp(
    `<(?!image:|video:|news:)(?:[\\w.-]+:)?${name}\\s*>([^<]*)(?:<!\\[CDATA\\[([\\s\\S]{0,4096}?)\\]\\]>[^<]*)?<\\/`,
  )
}

function textOf(element: string, name: 'loc' | 'lastmod'): string | null {
  const found = PATTERNS[name].exec(element)
  if (found === null) return null
  const [, plain = '', cdata] = found
  return cdata === undefined ? unescapeXml(plain.trim()) : cdata.trim()
}
