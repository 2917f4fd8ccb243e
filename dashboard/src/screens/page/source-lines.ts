/** `number` is null if the piece continues the line above. */
export type SourceLine = { number: number | null; text: string }

export function sourceLines(source: string, chars = 140): SourceLine[] {
  const lines: SourceLine[] = []
  source.split('\n').forEach((line, at) => {
    let number: number | null = at + 1
    let rest = line
    while (rest.length > chars) {
      const tag = rest.lastIndexOf('<', chars)
      const end = tag > chars / 3 ? tag : chars
      lines.push({ number, text: rest.slice(0, end) })
      rest = rest.slice(end)
      number = null
    }
    lines.push({ number, text: rest })
  })
  return lines
}
