export type CsvCell = string | number | null

/**
 * RFC 4180: a line of names, then one line each, ended by CRLF. Text that a
 * spreadsheet would run as a formula is led by an apostrophe, which it shows
 * as text: paths and names come from strangers.
 */
export function csvText(names: readonly string[], rows: Iterable<readonly CsvCell[]>): string {
  let text = line(names)
  for (const row of rows) text += line(row)
  return text
}

function line(cells: readonly CsvCell[]): string {
  return `${cells.map(cell).join()}\r\n`
}

function cell(value: CsvCell): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const harmless = (FORMULA.test(value) ? `'${value}` : value).replace(FORMULA_BEHIND, "$1'")
  return /[",;\t\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** What spreadsheets take for a formula's beginning, also the wide forms of the same signs. */
const FORMULA = /^[\s]*[=+\-@\t\r\n＝＋－＠|%]/
/** In half of Europe a spreadsheet begins a cell behind each semicolon, quotes or not. */
const FORMULA_BEHIND = /([;\t]["'\s]*)(?=[=+\-@＝＋－＠|%])/g
