import { utcDay, utcMonth } from '@prepaint/contract/dates.ts'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/** A domain's renders in a UTC month, and the limit of its plan. */
type Quota = { used: number; limit: number }

/** 100 %: webhook refreshes are refused. A limit of 0 is reached at once. */
export function limitReached({ used, limit }: Quota): boolean {
  return used >= limit
}

/**
 * 120 %: rendering stops. Integer arithmetic: 1.2 has no exact binary fraction. A limit of 7 (8.4) allows 9.
 * `over_quota` in packages/pages/src/quota.functions.sql must match.
 */
export function quotaEnd(limit: number): number {
  return Math.ceil((limit * 6) / 5)
}

export function overQuota({ used, limit }: Quota): boolean {
  return used >= quotaEnd(limit)
}

/** Reads the use in the month of `nowMs`. Returns null if the domain was deleted. */
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
 * SQL to follow `with ...,`. Counts a render for each row of `from`, all of one domain. `counted` is empty if they do
 * not all fit the quota. Concurrent counts wait for each other, so bursts stay below 120 %. The other values are
 * parameter names.
 */
export function countRender(of: { from: string; month: string; limit: string; day: string }): string {
  return `counted as (
    insert into render_count as c (domain_id, month, renders)
    select domain_id, ${of.month}, count(*) from ${of.from} group by domain_id having not over_quota(count(*) - 1, ${of.limit})
    on conflict (domain_id, month) do update set renders = c.renders + excluded.renders
      where not over_quota(c.renders + excluded.renders - 1, ${of.limit})
    returning domain_id
  ), counted_day as (
    insert into render_day as d (domain_id, day, renders)
    select domain_id, ${of.day}, (select count(*) from ${of.from}) from counted
    on conflict (domain_id, day) do update set renders = d.renders + excluded.renders
  )`
}

/** Counts a render. Returns false, and counts nothing, if it is over the quota. Call in the transaction that uses the render. */
export async function takeRender(
  client: Queryable,
  domain: DomainId,
  limit: number,
  nowMs: number,
): Promise<boolean> {
  const { rowCount } = await client.query({
    name: 'quota-take',
    text: `with asked as (select $1::integer as domain_id),
             ${countRender({ from: 'asked', month: '$2', limit: '$3', day: '$4' })}
           select from counted`,
    values: [domain, utcMonth(nowMs), limit, utcDay(nowMs)],
  })
  return rowCount === 1
}

export type RendersOfDay = { domain: DomainId; day: string; renders: number }

/** Adds renders of days that the queue did not count to the counts of these days and their months. No limit applies. */
export async function addRenders(db: Queryable, counted: readonly RendersOfDay[]): Promise<void> {
  await db.query(
    `with given as (
       select * from unnest($1::integer[], $2::date[], $3::integer[]) as g (domain_id, day, renders)
     ), months as (
       insert into render_count as c (domain_id, month, renders)
       select domain_id, date_trunc('month', day)::date, sum(renders) from given group by 1, 2
       on conflict (domain_id, month) do update set renders = c.renders + excluded.renders
     )
     insert into render_day as d (domain_id, day, renders)
     select domain_id, day, sum(renders) from given group by 1, 2
     on conflict (domain_id, day) do update set renders = d.renders + excluded.renders`,
    [
      counted.map(({ domain }) => domain), // $1
      counted.map(({ day }) => day), // $2
      counted.map(({ renders }) => renders), // $3
    ],
  )
}
