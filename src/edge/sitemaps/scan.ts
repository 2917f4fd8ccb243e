import { Transform } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

import { escapeXml, unescapeXml } from '../../xml-text.ts'

type SitemapScan = {
  /** Gives the location to write instead, as text; null leaves it as it is. */
  rewrite(location: string): string | null
  /** Each `<loc>` of a page or, in an index, of a sitemap (not of an image or video). In order. */
  found(location: string): void
}

/** The sitemap protocol's own limit, uncompressed; also what stops a decompression bomb. */
export const SITEMAP_LIMIT_BYTES = 50 * 1024 * 1024

/** One location may be 2,048 characters long; a longer open element is no sitemap. */
const OPEN_LIMIT_CHARS = 64 * 1024

export class NotASitemap extends Error {
  override name = 'NotASitemap'
}

// `<loc>`, `<image:loc>`, `<video:content_loc>`, with plain text or a CDATA section in it.
// Nothing in it can match the same characters in two ways: the text is a stranger's.
const LOC = /(<((?:[\w.-]+:)?(?:\w+_)?loc)\s*>)([^<]*)(?:<!\[CDATA\[([\s\S]{0,4096}?)\]\]>([^<]*))?<\//g
const OPENING = /<(?:[\w.-]+:)?(?:\w+_)?loc\s*>/
const ROOT = /<(?:[\w.-]+:)?(urlset|sitemapindex)[\s>]/

/**
 * Reads a sitemap as it streams by and writes it on with other locations;
 * everything else goes through byte for byte. Holds no more than one open
 * element, knows no DTD and expands only the five entities of XML and numbers,
 * so that nothing in it can make it grow. Fails with NotASitemap.
 */
export class SitemapScanner extends Transform {
  /** What the root element says, once it has been seen. */
  root: 'urlset' | 'sitemapindex' | null = null
  readonly #scan: SitemapScan
  readonly #decoder = new StringDecoder('utf8')
  #held = ''
  #bytes = 0

  constructor(scan: SitemapScan) {
    super()
    this.#scan = scan
  }

  override _transform(chunk: Buffer, _encoding: string, done: (error?: Error | null, out?: string) => void) {
    this.#bytes += chunk.length
    if (this.#bytes > SITEMAP_LIMIT_BYTES) return done(new NotASitemap('larger than 50 MiB'))
    try {
      done(null, this.#through(this.#held + this.#decoder.write(chunk), false))
    } catch (error) {
      done(error as Error)
    }
  }

  override _flush(done: (error?: Error | null, out?: string) => void) {
    try {
      const rest = this.#through(this.#held + this.#decoder.end(), true)
      done(this.root === null ? new NotASitemap('no urlset or sitemapindex') : null, rest)
    } catch (error) {
      done(error as Error)
    }
  }

  #through(text: string, last: boolean): string {
    this.root ??= (ROOT.exec(text)?.[1] as 'urlset' | 'sitemapindex' | undefined) ?? null
    const rewritten: string[] = []
    let at = 0
    for (const match of text.matchAll(LOC)) {
      rewritten.push(text.slice(at, match.index), this.#element(match))
      at = match.index + match[0].length
    }
    const rest = text.slice(at)
    const end = last ? rest.length : wholeUntil(rest)
    if (rest.length - end > OPEN_LIMIT_CHARS) throw new NotASitemap('an element without end')
    this.#held = rest.slice(end)
    rewritten.push(rest.slice(0, end))
    return rewritten.join('')
  }

  #element([whole, before, name, text = '', cdata, after = '']: RegExpExecArray): string {
    const location = cdata === undefined ? unescapeXml(text) : cdata
    if (location === null || (cdata !== undefined && (text + after).trim() !== '')) return whole
    const bare = location.trim()
    if (!/_|^(?:image|video|news):/.test(name ?? '')) this.#scan.found(bare)
    const instead = this.#scan.rewrite(bare)
    if (instead === null) return whole
    const lead = text.slice(0, text.length - text.trimStart().length)
    const trail = cdata === undefined ? text.slice(text.trimEnd().length) : after
    return `${before}${lead}${escapeXml(instead)}${trail}</`
  }
}

/** Up to where text without a whole `loc` can go on: not into one that has begun, nor into half a tag. */
function wholeUntil(text: string): number {
  const open = OPENING.exec(text)
  if (open !== null) return open.index
  const tag = text.lastIndexOf('<')
  return tag === -1 || text.includes('>', tag) ? text.length : tag
}
