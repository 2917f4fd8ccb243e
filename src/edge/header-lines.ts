// RFC 9112, section 5: no folded lines, no space before the colon, no bare CR or LF. Of one meaning, so nothing is tried twice.
const LINES = /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/

/**
 * The header lines of an HTTP/1.x message (Latin-1, each with its line break) as a
 * flat list, without the white space around values; null: they are malformed.
 */
export function headerLines(text: string): string[] | null {
  if (!LINES.test(text)) return null
  const flat: string[] = []
  for (let at = 0; at < text.length; ) {
    const colon = text.indexOf(':', at)
    const end = text.indexOf('\r\n', colon)
    flat.push(text.slice(at, colon), trimmed(text, colon + 1, end))
    at = end + 2
  }
  return flat
}

/** `trim` would take more for white space than HTTP does. */
function trimmed(text: string, from: number, to: number): string {
  let [start, end] = [from, to]
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
