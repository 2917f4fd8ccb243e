/** A column: its heading, and whether it holds numbers (set to the right). */
export type Column = string | { heading: string; right: true }

/**
 * Rows under headings, aligned by spaces, two between columns. `none` is said
 * instead of a table without rows. Control characters in a cell are shown as
 * `?`: a name that a customer chose must not move the operator's cursor.
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  none: string,
): string {
  if (rows.length === 0) return none
  const headings = columns.map((column) => (typeof column === 'string' ? column : column.heading))
  const lines = [headings, ...rows.map((row) => row.map(printable))]
  const widths = headings.map((_, at) => Math.max(...lines.map((line) => (line[at] ?? '').length)))
  return lines
    .map((line) =>
      line
        .map((cell, at) =>
          typeof columns[at] === 'string' ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** `name  value` lines, values aligned. */
export function fields(entries: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`).join('\n')
}

function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
}
