/** A table as bench/RESULTS.md holds it; the first columns are text, the others numbers, set to the right. */
export function markdownTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  textColumns = 1,
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = headings.map((_, at) => (at < textColumns ? '---' : '--:')).join('|')
  return [line(headings), `|${rule}|`, ...rows.map(line)].join('\n')
}
