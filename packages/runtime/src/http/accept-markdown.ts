const MARKDOWN = 'text/markdown'
const HEADER_LIMIT_CHARS = 4_096

/** Separators inside of quoted strings separate nothing (RFC 9110, section 5.6.4). */
const MEMBERS = /(?:"(?:[^"\\]|\\.)*"?|[^",])+/g
const PARTS = /(?:"(?:[^"\\]|\\.)*"?|[^";])+/g

/**
 * Whether a client prefers Markdown to HTML (RFC 9110, section 12.5.1). It names `text/markdown`, and HTML has a lower
 * weight, or the same and is named later or by a wildcard only. Wildcards never choose Markdown.
 */
export function prefersMarkdown(accept: string | undefined): boolean {
  // Nearly all requests end here.
  if (accept === undefined || accept.length > HEADER_LIMIT_CHARS || !/markdown/i.test(accept)) return false
  const named = new Map<string, { weight: number; at: number }>()
  for (const [at, member] of (accept.match(MEMBERS) ?? []).entries()) {
    const [name = '', ...parameters] = (member.match(PARTS) ?? []).map((part) => part.trim())
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
