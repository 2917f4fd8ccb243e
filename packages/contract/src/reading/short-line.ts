/** The text on one line, cut after so many characters. */
export function shortLine(text: string, chars: number): string {
  const read = text.slice(0, chars * 4)
  return oneLine(read).slice(0, chars)
}

const NEEDS_FOLDING = /\s\s|[^\S ]/

/** Each run of white space becomes one space. */
export function oneLine(text: string): string {
  const trimmed = text.trim()
  return NEEDS_FOLDING.test(trimmed) ? trimmed.replace(/\s+/g, ' ') : trimmed
}
