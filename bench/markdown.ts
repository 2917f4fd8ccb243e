/** The first columns are text, the others right-aligned numbers. */
export function markdownTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  textColumns = 1,
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = headings.map((_, at) => (at < textColumns ? '---' : '--:')).join('|')
  return [line(headings), `|${rule}|`, ...rows.map(line)].join('\n')
}
