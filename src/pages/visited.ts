import type { Queryable } from '../db/transaction.ts'
import type { DomainId } from '../ids.ts'

/** Carries the ids of domains of which visits were noted or counted, joined by commas. */
export const VISITED_CHANNEL = 'visited'

/** A payload has room for 8,000 bytes, and an id ten digits. */
const TOLD_AT_ONCE = 500

/** Tells whoever shows live figures, once the transaction is committed. Nothing of it is tenant data but that a domain was visited. */
export async function tellVisited(db: Queryable, domains: Iterable<DomainId>): Promise<void> {
  const ids = [...new Set(domains)]
  if (ids.length === 0) return
  await db.query(
    `select pg_notify($2, string_agg(id::text, ','))
       from unnest($1::integer[]) with ordinality as each (id, at)
      group by (at - 1) / $3::integer`,
    [ids, VISITED_CHANNEL, TOLD_AT_ONCE],
  )
}

/** What came over the channel; null: not of this version. */
export function parseVisited(payload: string): DomainId[] | null {
  return /^\d+(,\d+)*$/.test(payload) ? payload.split(',').map((id) => Number(id) as DomainId) : null
}
