/** Called in document order. */
export type HtmlListener = {
  text(text: string): void
  /** `attribute` decodes; null: absent. `has`: whether the tag contains a text, at no cost. */
  open(name: string, attribute: (name: string) => string | null, has: (text: string) => boolean): void
  close(name: string): void
  /** An element whose content is not markup; between its `open` and `close`. */
  raw(name: string, contents: string): void
}

/** Content is not markup or not shown. Templates that are shadow roots count as content. */
const RAW = new Set('script style noscript title textarea template iframe xmp noembed noframes'.split(' '))
const NAME = /^<\/?([a-z][a-z0-9-]{0,60})/i

/**
 * For HTML as browsers serialize it: lower-case names, double quotes, five character references.
 * One pass in linear time for any input; never throws.
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

/** A quoted `>` does not end the tag. */
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

export function decoded(text: string): string {
  return text.includes('&')
    ? text.replace(/&(lt|gt|amp|quot|nbsp|#39);/g, (_reference, name: string) => REFERENCES[name] ?? ' ')
    : text
}
