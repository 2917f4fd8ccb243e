/** `number` is null if the piece continues the line above. */
export type SourceLine = { number: number | null; text: string }

/** Splits a source into its lines, and long lines before a tag, into pieces of at most `chars` characters. */
export function sourceLines(source: string, chars = 140): SourceLine[] {
  return source
    .split('\n')
    .flatMap((line, at) =>
      piecesOf(line, chars).map((text, place) => ({ number: place === 0 ? at + 1 : null, text })),
    )
}

function piecesOf(line: string, chars: number): string[] {
  const pieces: string[] = []
  let rest = line
  while (rest.length > chars) {
    const tag = rest.lastIndexOf('<', chars)
    const end = tag > chars / 3 ? tag : chars
    pieces.push(rest.slice(0, end))
    rest = rest.slice(end)
  }
  pieces.push(rest)
  return pieces
}
