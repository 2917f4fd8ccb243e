/** Pieces of a pattern in which `*` stands for any characters, also none. */
export type Glob = readonly string[]

export function parseGlob(pattern: string): Glob {
  return pattern.replace(/\*{2,}/g, '*').split('*')
}

/**
 * Whether the whole of `text` is as the pattern says. Every piece is looked for
 * once, from where the one before it ended, so that no pattern of a customer
 * can hold the edge up.
 */
export function matchesWhole(glob: Glob, text: string): boolean {
  const first = glob[0]!
  if (glob.length === 1) return text === first
  const last = glob.at(-1)!
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  // No character counts for two pieces: `/ab*ba` is not `/aba`.
  return inOrder(glob.slice(1, -1), text, first.length, text.length - last.length)
}

/** Whether `text` holds what the pattern says, anywhere. */
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
