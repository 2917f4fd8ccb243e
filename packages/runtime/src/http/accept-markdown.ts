import { mediaTypeWeight, parseAccept } from './accept.ts'

/** A longer header asks for HTML. */
const HEADER_LIMIT_CHARS = 4_096

/**
 * Whether a client prefers Markdown to HTML (RFC 9110, section 12.5.1). It names `text/markdown`, and HTML has a lower
 * weight, or the same and is named later or by a wildcard only. Wildcards never choose Markdown.
 */
export function prefersMarkdown(accept: string | undefined): boolean {
  // Nearly all requests end here.
  if (accept === undefined || accept.length > HEADER_LIMIT_CHARS || !/markdown/i.test(accept)) return false
  const accepted = parseAccept(accept)
  const markdown = accepted.get('text/markdown')
  if (markdown === undefined || markdown.weight === 0) return false
  const htmlWeight = mediaTypeWeight(accepted, 'text/html')
  if (markdown.weight !== htmlWeight) return markdown.weight > htmlWeight
  const html = accepted.get('text/html')
  return html === undefined || html.at > markdown.at
}
