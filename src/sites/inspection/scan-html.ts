/** What is found in a document, in its order. */
export type HtmlListener = {
  text(text: string): void
  /** `attribute` decodes; null: it has none of that name. `has`: whether its tag holds a text, at no cost. */
  open(name: string, attribute: (name: string) => string | null, has: (text: string) => boolean): void
  close(name: string): void
  /** An element whose contents are no markup; comes after its `open` and before its `close`. */
  raw(name: string, contents: string): void
}

/** Elements whose contents are no markup, or are not shown. Templates that are shadow roots are content. */
const RAW = new Set('script style noscript title textarea template iframe xmp noembed noframes'.split(' '))
/** Longer than any name that means something here. */
const NAME = /^<\/?([a-z][a-z0-9-]{0,60})/i

/**
 * Reads a document as a browser has written it out: every name in its one
 * spelling, every value in double quotes, no references but five. Once, from
 * left to right, whatever it holds: no document costs more than
 * its length. What no browser writes is read somehow, and breaks nothing.
 */
export function scanHtml(html: string, listener: HtmlListener): void {
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    const end = open === -1 ? html.length : open
    if (end > at) listener.text(decoded(html.slice(at, end)))
    if (open === -1) return
    if (html.startsWith('<!--', open)) {
      at = after(html, '-->', open + 4)
      continue
    }
    at = afterTag(html, open)
    const tag = html.slice(open, at)
    const name = NAME.exec(tag)?.[1]?.toLowerCase()
    if (name === undefined) continue
    if (tag.startsWith('</')) {
      listener.close(name)
      continue
    }
    listener.open(
      name,
      (wanted) => attributeOf(tag, wanted),
      (text) => tag.includes(text),
    )
    if (!RAW.has(name) || (name === 'template' && tag.includes(' shadowrootmode='))) continue
    const close = html.indexOf(`</${name}`, at)
    listener.raw(name, html.slice(at, close === -1 ? html.length : close))
    at = close === -1 ? html.length : close
  }
}

function after(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from)
  return found === -1 ? html.length : found + text.length
}

/** The place after a tag that begins at `open`; a `>` in a quoted value does not end it. */
function afterTag(html: string, open: number): number {
  let isQuoted = false
  for (let at = open + 1; at < html.length; at++) {
    const char = html.charCodeAt(at)
    if (char === 34) isQuoted = !isQuoted
    else if (char === 62 && !isQuoted) return at + 1
  }
  return html.length
}

function attributeOf(tag: string, name: string): string | null {
  const start = tag.indexOf(` ${name}="`)
  if (start === -1) return new RegExp(` ${name}(?=[ >])`).test(tag) ? '' : null
  const from = start + name.length + 3
  const end = tag.indexOf('"', from)
  return decoded(tag.slice(from, end === -1 ? tag.length : end))
}

const REFERENCES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', nbsp: ' ', '#39': "'" }

/** What a browser writes of characters that would be markup. */
export function decoded(text: string): string {
  return text.includes('&')
    ? text.replace(/&(lt|gt|amp|quot|nbsp|#39);/g, (_reference, name: string) => REFERENCES[name] ?? ' ')
    : text
}
