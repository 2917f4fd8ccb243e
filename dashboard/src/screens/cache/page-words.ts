import type { ListedPage, PageOrder } from '../../api/types.ts'

export const ORDERS: readonly { order: PageOrder; title: string }[] = [
  { order: 'path', title: 'Path' },
  { order: 'status', title: 'Status' },
  { order: 'size', title: 'Size' },
  { order: 'rendered', title: 'Rendered' },
  { order: 'fresh_until', title: 'Freshness' },
  { order: 'last_crawler', title: 'Last crawler' },
  { order: 'last_render', title: 'Last render' },
]

const UNITS = ['bytes', 'kB', 'MB', 'GB'] as const

/** `812 bytes`, `34.2 kB`. */
export function size(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1_000 && unit < UNITS.length - 1) {
    value /= 1_000
    unit++
  }
  return `${unit === 0 ? value : value.toFixed(value < 100 ? 1 : 0)} ${UNITS[unit]}`
}

/** What becomes of a page that a crawler asks for now. */
export const FRESHNESS: Record<ListedPage['freshness'], { word: string; meaning: string }> = {
  fresh: { word: 'fresh', meaning: 'Served as it is.' },
  stale: { word: 'stale', meaning: 'Served, and rendered again when a crawler next asks.' },
  kept: { word: 'kept', meaning: 'Served only if the origin or the renderer fails.' },
  gone: { word: 'gone', meaning: 'No longer served; removed within the hour.' },
}
