export type LineError = { line: number; error: string }

type Row = { line: number; cells: string[] }

/** Reads CSV (RFC 4180) with LF or CRLF. Empty lines are skipped. `line` is where a record begins. */
export function csvRows(text: string): Row[] | LineError {
  const rows: Row[] = []
  const field = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n][^,\r\n]*)?)(,|\r?(?:\n|$))/y
  let line = 1
  let row: Row = { line, cells: [] }
  for (let end = ''; field.lastIndex < text.length || end === ','; ) {
    const at = field.lastIndex
    const found = field.exec(text)
    if (found === null) {
      const isOpen = /^"[^"]*(?:""[^"]*)*$/.test(text.slice(at))
      return isOpen
        ? { line: row.line, error: 'a quote is not closed' }
        : { line, error: 'this is not valid CSV' }
    }
    const [, quoted, plain = ''] = found
    end = found[3]!
    row.cells.push(quoted?.replaceAll('""', '"') ?? plain)
    line += (quoted ?? '').split('\n').length - 1
    if (end === ',') continue
    if (row.cells.length > 1 || row.cells[0]!.trim() !== '') rows.push(row)
    row = { line: ++line, cells: [] }
  }
  return rows
}
