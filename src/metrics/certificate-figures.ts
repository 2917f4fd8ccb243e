import type { Queryable } from '../db/transaction.ts'

/** Of active domains: those that are switched off may have moved away. */
export type CertificateFigures = {
  stored: number
  /** Until the first of them ends, 0 where it has; null: there is none. */
  soonestEndSeconds: number | null
  /** Domains whose last order came to nothing. */
  failing: number
}

const CERTIFICATES = `
  select count(c.domain_id)::int as stored,
         greatest(0, extract(epoch from min(c.not_after) - now()))::float8 as "soonestEndSeconds",
         (select count(*)::int from certificate_order o join domain d on d.id = o.domain_id
           where o.failures > 0 and d.is_active) as failing
    from certificate c join domain d on d.id = c.domain_id
   where d.is_active`

export async function readCertificateFigures(db: Queryable): Promise<CertificateFigures> {
  const { rows } = await db.query<CertificateFigures>({ name: 'metrics-certificates', text: CERTIFICATES })
  const { stored, soonestEndSeconds, failing } = rows[0]!
  // `greatest` knows no null.
  return { stored, soonestEndSeconds: stored === 0 ? null : soonestEndSeconds, failing }
}
