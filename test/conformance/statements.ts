/** One thing that a document promises: a sentence of prose or of a list, or a row of a table. */
export type Statement = string

/**
 * Takes a Markdown document apart. Of a table, each row but the head is one
 * statement, its cells joined by ` · `; of everything else, each sentence.
 * Headings, and sentences that only introduce what follows, promise nothing.
 */
export function statementsOf(markdown: string): Statement[] {
  const lines = markdown.split('\n')
  return lines.flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return []
    if (!line.startsWith('|')) return sentencesOf(line.replace(/^(?:- |\d+\. )/, ''))
    const isHead = lines[index + 1]?.startsWith('|---') === true || line.startsWith('|---')
    return isHead ? [] : [cellsOf(line).join(' · ')]
  })
}

/** Cells of a row, without the bars and the blanks around them. A bar that belongs to a cell is `\|`. */
export function cellsOf(row: string): string[] {
  return row
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))
}

function sentencesOf(text: string): string[] {
  const sentences = text.trim().split(/(?<=[.])\s+(?=[A-Z`{"])/)
  return sentences.filter((sentence) => !sentence.endsWith(':'))
}
