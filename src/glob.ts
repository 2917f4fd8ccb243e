/** Pieces between `*`, which matches any characters or none. */
export type Glob = readonly string[]

export function parseGlob(pattern: string): Glob {
  return pattern.replace(/\*{2,}/g, '*').split('*')
}

/** Matches the whole text. Searches each piece once, so customers' patterns take linear time. */
export function matchesWhole(glob: Glob, text: string): boolean {
  const first = glob[0]!
  if (glob.length === 1) return text === first
  const last = glob.at(-1)!
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  // Pieces must not overlap: `/ab*ba` is not `/aba`.
  return inOrder(glob.slice(1, -1), text, first.length, text.length - last.length)
}

export function matchesWithin(glob: Glob, text: string): boolean {
  return inOrder(glob, text, 0, text.length)
}

function inOrder(pieces: Glob, text: string, from: number, to: number): boolean {
  let at = from
  for (const piece of pieces) {
    const found = text.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return at <= to
}
