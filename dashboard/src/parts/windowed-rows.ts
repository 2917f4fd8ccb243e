import { useElementSize, useMergedRef } from '@mantine/hooks'
import { useRef, useState } from 'react'

/** Rows drawn beyond the visible ones, so that scrolling shows no gap. */
const SPARE_ROWS = 8

const FIRST_HEIGHT = 600

/** The rows to draw, from `start` to before `end`. Sizes are in CSS pixels. */
function rowWindow(list: { rows: number; rowHeight: number; scrolled: number; height: number }): {
  start: number
  end: number
} {
  const { rows, rowHeight, scrolled, height } = list
  const first = Math.floor(Math.max(0, scrolled) / rowHeight) - SPARE_ROWS
  const last = Math.ceil((Math.max(0, scrolled) + height) / rowHeight) + SPARE_ROWS
  const start = Math.min(Math.max(0, first), Math.max(0, rows - 1))
  return { start, end: Math.min(rows, Math.max(last, start)) }
}

/** Returns how far to scroll until a row is in sight. */
export function scrollTo(
  row: number,
  { rowHeight, scrolled, height }: { rowHeight: number; scrolled: number; height: number },
): number {
  const top = row * rowHeight
  if (top < scrolled) return top
  const bottom = top + rowHeight
  return bottom > scrolled + height ? bottom - height : scrolled
}

/** Draws only visible rows. Attach `ref` and `onScroll` to the scrolling box. */
export function useWindowedRows<Box extends HTMLElement>(rows: number, rowHeight: number) {
  const { ref: measured, height } = useElementSize<Box>()
  const box = useRef<Box>(null)
  const ref = useMergedRef(measured, box)
  const [scrolled, setScrolled] = useState(0)
  return {
    ref,
    box,
    height,
    /** The width of the scroll bar beside the rows, in CSS pixels. */
    scrollBar: box.current === null ? 0 : box.current.offsetWidth - box.current.clientWidth,
    onScroll: () => setScrolled(box.current?.scrollTop ?? 0),
    ...rowWindow({ rows, rowHeight, scrolled, height: height || FIRST_HEIGHT }),
  }
}
