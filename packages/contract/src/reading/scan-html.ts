import { decodeHTML, decodeHTMLAttribute } from 'entities/decode'

/** Called in document order. */
export type HtmlListener = {
  /** Text between tags, with its character references decoded. */
  text(text: string): void
  /** `tag` is the start tag as it is written: read it with `attributeOf`. */
  open(name: string, tag: string): void
  close(name: string): void
  /** The content, as it is written, of an element that has no markup inside; between its `open` and `close`. */
  raw(name: string, contents: string): void
}

/** Their content is not markup, or not shown. Templates that are shadow roots count as content. */
const RAW = new Set('script style noscript title textarea template iframe noembed noframes'.split(' '))
const NAME = /^<\/?([a-z][a-z0-9-]{0,60})/i

/**
 * Reads HTML as browsers serialize it: lower-case names, double quotes. Never throws, and takes time in proportion to
 * the length for any input. parse5 takes 12 times as long for a page of 184 KB, its tokenizer alone 8 times.
 */
export function scanHtml(html: string, listener: HtmlListener): void {
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    const end = open === -1 ? html.length : open
    if (end > at) listener.text(decodeText(html.slice(at, end)))
    if (open === -1) return
    if (html.startsWith('<!--', open)) {
      at = endOf(html, '-->', open + 4)
      continue
    }
    at = endOfTag(html, open)
    const tag = html.slice(open, at)
    const name = NAME.exec(tag)?.[1]?.toLowerCase()
    if (name === undefined) continue
    if (tag.charCodeAt(1) === SLASH) {
      listener.close(name)
      continue
    }
    listener.open(name, tag)
    if (name === 'plaintext') {
      // HTML, "PLAINTEXT state": nothing ends it.
      listener.text(html.slice(at))
      return
    }
    const isShown = name === 'xmp'
    if (!isShown && (!RAW.has(name) || (name === 'template' && tag.includes(' shadowrootmode=')))) continue
    const found = html.indexOf(`</${name}`, at)
    const close = found === -1 ? html.length : found
    const contents = html.slice(at, close)
    // HTML, "RAWTEXT state": character references are text there.
    if (isShown) listener.text(contents)
    else listener.raw(name, contents)
    at = close
  }
}

const SLASH = 47
const QUOTE = 34
const GREATER = 62

function endOf(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from)
  return found === -1 ? html.length : found + text.length
}

/** A quoted `>` does not end the tag. */
function endOfTag(html: string, open: number): number {
  let isQuoted = false
  for (let at = open + 1; at < html.length; at++) {
    const char = html.charCodeAt(at)
    if (char === QUOTE) isQuoted = !isQuoted
    else if (char === GREATER && !isQuoted) return at + 1
  }
  return html.length
}

/** The value of an attribute with its character references decoded; null if the tag has no such attribute. */
export function attributeOf(tag: string, name: string): string | null {
  const written = writtenAttributeOf(tag, name)
  return written?.includes('&') ? decodeHTMLAttribute(written) : written
}

/** The value as it is written. */
export function writtenAttributeOf(tag: string, name: string): string | null {
  const start = tag.indexOf(` ${name}="`)
  if (start === -1) {
    const bare = tag.indexOf(` ${name}`)
    const next = bare === -1 ? '' : tag[bare + name.length + 1]
    return next === ' ' || next === '>' ? '' : null
  }
  const from = start + name.length + 3
  const end = tag.indexOf('"', from)
  return tag.slice(from, end === -1 ? tag.length : end)
}

/** Decodes all character references of HTML. */
export function decodeText(text: string): string {
  return text.includes('&') ? decodeHTML(text) : text
}
