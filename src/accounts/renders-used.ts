import type { Queryable } from '../db/transaction.ts'
import type { DomainId } from '../ids.ts'
import { utcMonth } from './month.ts'

/** Renders that the domain has used in the UTC month of `nowMs`. */
export async function rendersUsed(db: Queryable, domain: DomainId, nowMs: number): Promise<number> {
  const { rows } = await db.query<{ renders: number }>(
    'select renders from render_count where domain_id = $1 and month = $2',
    [domain, utcMonth(nowMs)],
  )
  return rows[0]?.renders ?? 0
}
