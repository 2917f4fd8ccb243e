const SILENT = /^(?:script|style|noscript|title|textarea|template)$/

/** Collapses white space and stops at `limitChars`. Takes linear time for any input. */
export function pageText(html: string, limitChars = Number.POSITIVE_INFINITY): string {
  const parts: string[] = []
  let chars = 0
  let at = html.search(/<body[\s>]/i)
  if (at === -1) at = 0
  while (at < html.length && chars <= limitChars) {
    const open = html.indexOf('<', at)
    const text = html.slice(at, open === -1 ? html.length : open).replace(/\s+/g, ' ')
    if (text !== '' && text !== ' ') {
      parts.push(text.trim())
      chars += text.length
    }
    if (open === -1) break
    at = afterTag(html, open)
    const name = /^<([a-z]+)/i.exec(html.slice(open, open + 12))?.[1]?.toLowerCase() ?? ''
    const isShadow = name === 'template' && /\bshadowrootmode=/i.test(html.slice(open, at))
    if (SILENT.test(name) && !isShadow) {
      const close = html.indexOf(`</${name}`, at)
      at = close === -1 ? html.length : afterTag(html, close)
    }
  }
  return decoded(parts.join(' ')).slice(0, limitChars)
}

/** A `>` in a quoted value does not end the tag. */
function afterTag(html: string, open: number): number {
  if (html.startsWith('<!--', open)) {
    const end = html.indexOf('-->', open + 4)
    return end === -1 ? html.length : end + 3
  }
  let quote = ''
  for (let at = open + 1; at < html.length; at++) {
    const char = html[at] ?? ''
    if (quote !== '') {
      if (char === quote) quote = ''
    } else if (char === '"') quote = char
    else if (char === '>') return at + 1
  }
  return html.length
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', nbsp: ' ' }

function decoded(text: string): string {
  return text.replace(/&(lt|gt|amp|quot|nbsp);/g, (_reference, name: string) => ENTITIES[name] ?? ' ')
}
