const MARKDOWN = 'text/markdown'
const HEADER_LIMIT_CHARS = 4_096

/**
 * Whether a client prefers Markdown to HTML (RFC 9110, section 12.5.1). It names `text/markdown`, and HTML has a lower
 * weight, or the same and is named later or by a wildcard only. Wildcards never choose Markdown.
 */
export function prefersMarkdown(accept: string | undefined): boolean {
  // Nearly all requests end here.
  if (accept === undefined || accept.length > HEADER_LIMIT_CHARS || !/markdown/i.test(accept)) return false
  const named = new Map<string, { weight: number; at: number }>()
  for (const [at, member] of split(accept, ',').entries()) {
    const [name = '', ...parameters] = split(member, ';').map((part) => part.trim())
    const weight = weightOf(parameters)
    const type = name.toLowerCase()
    if (weight !== null && weight > (named.get(type)?.weight ?? -1)) named.set(type, { weight, at })
  }
  const markdown = named.get(MARKDOWN)
  if (markdown === undefined || markdown.weight === 0) return false
  const html = named.get('text/html')
  const { weight } = html ?? named.get('text/*') ?? named.get('*/*') ?? { weight: 0 }
  if (markdown.weight !== weight) return markdown.weight > weight
  return html === undefined || html.at > markdown.at
}

/** null: malformed. */
function weightOf(parameters: readonly string[]): number | null {
  const q = parameters.find((parameter) => /^q\s*(?:=|$)/i.test(parameter))
  if (q === undefined) return 1
  const value = q.slice(2)
  return q[1] === '=' && /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(value) ? Number(value) : null
}

/** Not inside of quoted strings (RFC 9110, section 5.6.4). */
function split(text: string, separator: string): string[] {
  const parts: string[] = []
  let [from, isQuoted] = [0, false]
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') isQuoted = !isQuoted
    else if (char === '\\' && isQuoted) at++
    else if (char === separator && !isQuoted) {
      parts.push(text.slice(from, at))
      from = at + 1
    }
  }
  parts.push(text.slice(from))
  return parts
}
