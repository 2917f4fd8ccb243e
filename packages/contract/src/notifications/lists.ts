import { z } from 'zod'

/** ISO 8601 in UTC, with milliseconds; `iso_time` of packages/postgres/src/functions.sql. */
export const timeSchema = z.iso.datetime({ precision: 3 })

const wholeNumber = (most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, { error: 'must be a whole number' })
    .transform(Number)
    .pipe(z.number().min(1).max(most))

/** The query of lists that are read page by page. */
export const pageQuery = z.object({
  limit: wholeNumber(200).default(100).describe('1 to 200; default 100'),
  after: wholeNumber(Number.MAX_SAFE_INTEGER).optional().describe('`next` of the page before'),
})

export const nextField = z.int().nullable().describe('For `after`')

/** Makes a page of `limit` rows. `rows` has one more if there are more; then `next` is the last id of the page. */
export function pageOf<Row extends { id: number }>(
  rows: readonly Row[],
  limit: number,
): { page: Row[]; next: number | null } {
  const page = rows.slice(0, limit)
  return { page, next: rows.length > limit ? page.at(-1)!.id : null }
}
