import type { Queryable } from './transaction.ts'

/** What the database's clock says, to the millisecond below. A node that runs keeps its own by it: src/fleet/database-clock.ts. */
export async function databaseNow(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select clock_timestamp() as now')
  return rows[0]!.now
}
