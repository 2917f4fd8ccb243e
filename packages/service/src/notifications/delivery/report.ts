import type { reportSchema } from '@prepaint/contract/api/notifications.ts'
import type { AccountId, DomainId, Scope } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { z } from 'zod'
import { FAILING } from '../incidents/facts.ts'

export type Report = z.infer<typeof reportSchema>

/** The share of requests for pages that were hits. It is null without such requests. */
const hitRatio = (since: string) =>
  `round(sum(visits) filter (where ${since} and verdict in ('hit', 'stale'))::numeric
         / nullif(sum(visits) filter (where ${since} and is_for_page(category, verdict)), 0), 4)::float8 as hit_ratio`

/**
 * Has the 50 domains with the most visits, and the 10 crawlers. Covers the domains within the scope. Without `week` it is about the last whole one. Returns null if
 * there is no such week.
 */
export async function readReport(
  db: Queryable,
  { account, domains: within }: Scope,
  week: string | null,
): Promise<Report | null> {
  const total = await db.query<Omit<Report, 'crawlers' | 'domains'>>(
    `select to_char(monday, 'IYYY"-W"IW') as week, monday::text as from, (monday + 6)::text as to, t.*,
            (select coalesce(sum(r.renders), 0)::float8 from render_day r join domain d on d.id = r.domain_id
              where d.account_id = $1 and ($3::integer[] is null or d.id = any ($3)) and r.day >= monday and r.day < monday + 7) as renders
       from (select coalesce(to_date($2, 'IYYY"-W"IW'), date_trunc('week', now() at time zone 'UTC')::date - 7) as monday) w,
            lateral (
              select coalesce(sum(visits) filter (where day >= monday), 0)::float8 as visits,
                     coalesce(sum(visits) filter (where day < monday), 0)::float8 as visits_before,
                     ${hitRatio('day >= monday')}
                from traffic_by_day t join domain d on d.id = t.domain_id
               where d.account_id = $1 and ($3::integer[] is null or d.id = any ($3))
                 and t.category <> 'people' and t.day >= monday - 7 and t.day < monday + 7) t`,
    [account, week, within],
  )
  const head = total.rows[0]!
  // PostgreSQL takes a week 54 as one of the next year.
  if (week !== null && head.week !== week) return null
  const crawlers = await db.query<Report['crawlers'][number]>(
    `select crawler, sum(visits)::float8 as visits from traffic_by_day t join domain d on d.id = t.domain_id
      where d.account_id = $1 and ($3::integer[] is null or d.id = any ($3))
        and t.category <> 'people' and t.day >= $2::date and t.day < $2::date + 7
      group by crawler order by 2 desc, 1 limit 10`,
    [account, head.from, within],
  )
  const domains = await db.query<Report['domains'][number]>(
    `select d.custom_domain as domain, t.visits, t.hit_ratio,
            (select coalesce(sum(r.renders), 0)::float8 from render_day r
              where r.domain_id = d.id and r.day >= $2::date and r.day < $2::date + 7) as renders,
            (select count(*)::integer from last_render l where l.domain_id = d.id and l.outcome = any ($3)
                and l.ended_at >= $2::date and l.ended_at < $2::date + 7) as pages_failing,
            (select count(*)::integer from incident i
              where i.domain_id = d.id and i.opened_at >= $2::date and i.opened_at < $2::date + 7) as incidents,
            (select count(*)::integer from event e where e.account_id = $1 and e.domain_id = d.id
                and e.type = 'deploy.detected' and e.created_at >= $2::date and e.created_at < $2::date + 7) as deploys
       from domain d join lateral (
         select coalesce(sum(visits), 0)::float8 as visits,
                ${hitRatio('true')}
           from traffic_by_day where domain_id = d.id and category <> 'people' and day >= $2::date and day < $2::date + 7) t on true
      where d.account_id = $1 and ($4::integer[] is null or d.id = any ($4)) order by t.visits desc, d.custom_domain limit 50`,
    [account, head.from, [...FAILING, 'challenge', 'shrunk'], within],
  )
  return { ...head, crawlers: crawlers.rows, domains: domains.rows }
}

/**
 * On Mondays from 06:00 UTC, until Tuesday noon: once for each account with visits that wants it, and once for each address that
 * is limited to domains with visits. `now`: for tests.
 */
export async function recordReports(pool: pg.Pool, now: Date | null = null): Promise<void> {
  const { rows } = await pool.query<{
    id: AccountId
    channel: number | null
    domains: DomainId[] | null
    week: string
    key: string
  }>(
    `with clock as (select coalesce($1, now()) at time zone 'UTC' as at),
          week as (select date_trunc('week', at)::date as monday from clock
                    where at - date_trunc('week', at) between interval '6 hours' and interval '36 hours'),
          wanted as (select distinct account_id, case when domains is not null then id end as channel, domains from channel
                      where state = 'confirmed' and 'report.weekly' = any (events))
     select r.* from (
       select a.id, c.channel, c.domains, w.monday, to_char(w.monday - 7, 'IYYY"-W"IW') as week,
              'report ' || a.id || ' ' || w.monday || coalesce(' to ' || c.channel, '') as key
         from week w cross join wanted c join account a on a.id = c.account_id and a.suspended_at is null) r
      where not exists (select from event e where e.key = r.key)
        and exists (select from traffic_by_day t join domain d on d.id = t.domain_id
                     where d.account_id = r.id and (r.domains is null or d.id = any (r.domains))
                       and t.category <> 'people' and t.day >= r.monday - 7 and t.day < r.monday)
      order by r.id, r.channel limit 100`,
    [now],
  )
  for (const { id, channel, domains, week, key } of rows) {
    const report = await readReport(pool, { account: id, domains }, week)
    await pool.query(`select record_event($1, null, null, 'report.weekly', $2, $3, $4)`, [
      id,
      key,
      { report },
      channel,
    ])
  }
}
