import type { Queryable } from '@prepaint/postgres/transaction.ts'

export type BodyFigures = {
  /** Bodies in PostgreSQL that the store did not take. */
  late: number
  /** How long the first of them has waited; 0: none does. */
  oldestLateSeconds: number
  condemned: number
  /** How long the first condemned key has waited; null: none does. */
  oldestCondemnedSeconds: number | null
}

/** At most so many are counted, to keep scrapes cheap. */
const MOST_COUNTED = 100_000

const FIGURES = {
  name: 'body-figures',
  text: `with late as (
           (select body_late_at from page where body_late_at is not null order by 1 limit $1)
           union all (select body_late_at from page_form where body_late_at is not null order by 1 limit $1)
         ), condemned as (
           select at from body_gone where at <= clock_timestamp() order by at limit $1
         )
         select (select count(*)::integer from late) as late,
                coalesce((select extract(epoch from clock_timestamp() - min(body_late_at))::float8 from late), 0) as "oldestLateSeconds",
                (select count(*)::integer from condemned) as condemned,
                (select extract(epoch from clock_timestamp() - min(at))::float8 from condemned) as "oldestCondemnedSeconds"`,
}

/** Reads what waits for the object store. Counts of more than 100,000 say 100,000. */
export async function readBodyFigures(db: Queryable, most = MOST_COUNTED): Promise<BodyFigures> {
  const { rows } = await db.query<BodyFigures>({ ...FIGURES, values: [most] })
  const { oldestLateSeconds, oldestCondemnedSeconds, ...counts } = rows[0]!
  return {
    ...counts,
    oldestLateSeconds: Math.max(0, oldestLateSeconds),
    oldestCondemnedSeconds: oldestCondemnedSeconds === null ? null : Math.max(0, oldestCondemnedSeconds),
  }
}
