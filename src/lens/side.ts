import type { PageFacts } from './facts.ts'

/** What is kept of one look at a page: what it said, and how its load went. */
export type Side = {
  /** Of the main answer; null: none came. */
  status: number | null
  /** Where one has arrived. */
  url: string
  /** Until its load event, milliseconds; null: it never came. */
  loadedMs: number | null
  /** The page goes on below its picture. */
  isCut: boolean
  requests: { made: number; blocked: number; failed: number }
  /** That came. */
  pictures: number
  troubles: { url: string; kind: string; reason: string }[]
  consoleErrors: { count: number; texts: string[] }
  facts: PageFacts | null
}

/** A look that came to nothing, and why. */
export type NoSide = { reason: string }

/** As PostgreSQL can store it: no NUL, no half characters. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'string' ? each.replaceAll('\0', '').toWellFormed() : each,
  )
}
