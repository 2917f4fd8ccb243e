import { utcDay, utcMonth } from '../clock.ts'
import type { Queryable } from '../db/transaction.ts'
import type { DomainId } from '../ids.ts'
import { type PlanCatalogue, planNamed } from './plans.ts'

/** A domain's renders in a UTC month, and what its account's plan allows. */
type Quota = { used: number; limit: number }

/** 100 %: a webhook refresh is refused. A limit of 0 is reached at once. */
export function limitReached({ used, limit }: Quota): boolean {
  return used >= limit
}

/**
 * 120 %: nothing is rendered any more. Renders are allowed while `used` is less
 * than 1.2 times the limit, so a limit of 7 (8.4) allows 9. In whole numbers:
 * 1.2 has no exact binary fraction.
 */
export function overQuota({ used, limit }: Quota): boolean {
  return used * 5 >= limit * 6
}

/**
 * What the domain has used in the month of `nowMs`; null for a domain that is
 * gone. The domain id was obtained through its account or its host.
 */
export async function readQuota(
  db: Queryable,
  plans: PlanCatalogue,
  domain: DomainId,
  nowMs: number,
): Promise<Quota | null> {
  const { rows } = await db.query<{ plan: string; used: number }>({
    name: 'quota-read',
    text: `select a.plan, coalesce(c.renders, 0) as used
             from domain d
             join account a on a.id = d.account_id
             left join render_count c on c.domain_id = d.id and c.month = $2
            where d.id = $1`,
    values: [domain, utcMonth(nowMs)],
  })
  const row = rows[0]
  return row === undefined ? null : { used: row.used, limit: planNamed(plans, row.plan).monthly_render_limit }
}

/**
 * Counts one render in its month and its day, unless the domain is over quota: then false, and nothing
 * was counted. One statement, which waits for others that count for the same
 * domain: no burst gets past 120 %. `client` is inside the transaction that
 * stores the snapshot: both or neither.
 */
export async function takeRender(
  client: Queryable,
  domain: DomainId,
  limit: number,
  nowMs: number,
): Promise<boolean> {
  const { rowCount } = await client.query({
    name: 'quota-take',
    text: `with taken as (
             insert into render_count as c (domain_id, month, renders)
             select $1, $2, 1 where 0 < $3::bigint * 6
             on conflict (domain_id, month) do update set renders = c.renders + 1
               where c.renders::bigint * 5 < $3::bigint * 6
             returning domain_id)
           insert into render_day as d (domain_id, day, renders) select domain_id, $4, 1 from taken
           on conflict (domain_id, day) do update set renders = d.renders + 1`,
    values: [domain, utcMonth(nowMs), limit, utcDay(nowMs)],
  })
  return rowCount === 1
}
