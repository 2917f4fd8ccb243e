/** Rows drawn above and below those in sight, so that scrolling shows no gap. */
const SPARE_ROWS = 8

/** The rows to draw of a long list of rows of one height: from `start`, before `end`. All in CSS pixels. */
export function rowWindow(list: { rows: number; rowHeight: number; scrolled: number; height: number }): {
  start: number
  end: number
} {
  const { rows, rowHeight, scrolled, height } = list
  const first = Math.floor(Math.max(0, scrolled) / rowHeight) - SPARE_ROWS
  const last = Math.ceil((Math.max(0, scrolled) + height) / rowHeight) + SPARE_ROWS
  const start = Math.min(Math.max(0, first), Math.max(0, rows - 1))
  return { start, end: Math.min(rows, Math.max(last, start)) }
}

/** How far to scroll so that a row is in sight: as little as possible. */
export function scrollTo(
  row: number,
  { rowHeight, scrolled, height }: { rowHeight: number; scrolled: number; height: number },
): number {
  const top = row * rowHeight
  if (top < scrolled) return top
  const bottom = top + rowHeight
  return bottom > scrolled + height ? bottom - height : scrolled
}
