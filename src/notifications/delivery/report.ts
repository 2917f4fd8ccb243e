import type pg from 'pg'
import { z } from 'zod'
import type { Queryable } from '../../db/transaction.ts'
import type { AccountId } from '../../ids.ts'
import { FAILING } from '../incidents/facts.ts'

const domainSchema = z.object({
  domain: z.string(),
  visits: z.number(),
  hit_ratio: z.number().nullable(),
  renders: z.number(),
  pages_failing: z.int().describe('Pages whose last render failed in this week'),
  incidents: z.int(),
  deploys: z.int(),
})

export const reportSchema = z
  .object({
    week: z.string().describe('ISO 8601, Monday to Sunday in UTC'),
    from: z.string(),
    to: z.string(),
    visits: z.number().describe('Requests of crawlers'),
    visits_before: z.number().describe('The same, of the week before'),
    hit_ratio: z.number().nullable(),
    renders: z.number(),
    crawlers: z.array(z.object({ crawler: z.string(), visits: z.number() })).describe('At most 10'),
    domains: z.array(domainSchema).describe('At most 50, those with the most requests'),
  })
  .meta({ id: 'Report' })

export type Report = z.infer<typeof reportSchema>

/** Of requests for pages; null: none. */
const HIT_RATIO = 'round(sum(hits) / nullif(sum(asked), 0), 4)::float8 as hit_ratio'

const REPORT = `
  with week as (
    select coalesce(to_date($2, 'IYYY"-W"IW'), date_trunc('week', now() at time zone 'UTC')::date - 7) as monday),
  own as (select id, custom_domain as domain, monday, monday + 7 as ends from domain, week where account_id = $1),
  visit as (
    select o.id, t.crawler, sum(visits) filter (where day >= monday) as visits,
           sum(visits) filter (where day < monday) as visits_before,
           sum(visits) filter (where day >= monday and verdict in ('hit', 'stale')) as hits,
           sum(visits) filter (where day >= monday and is_for_page(category, verdict)) as asked
      from own o join traffic_day t on t.domain_id = o.id and t.day >= monday - 7 and t.day < ends
     where t.category <> 'people' group by o.id, t.crawler),
  each as (
    select o.domain, coalesce(v.visits, 0)::float8 as visits, v.hit_ratio,
           (select coalesce(sum(r.renders), 0)::float8 from render_day r
             where r.domain_id = o.id and r.day >= monday and r.day < ends) as renders,
           (select count(*) from last_render l where l.domain_id = o.id and l.outcome = any ($3)
               and l.ended_at >= monday and l.ended_at < ends) as pages_failing,
           (select count(*) from incident i
             where i.domain_id = o.id and i.opened_at >= monday and i.opened_at < ends) as incidents,
           (select count(*) from event e where e.account_id = $1 and e.domain_id = o.id
               and e.type = 'deploy.detected' and e.created_at >= monday and e.created_at < ends) as deploys
      from own o
      left join (select id, sum(visits) as visits, ${HIT_RATIO} from visit group by id) v on v.id = o.id)
  select to_char(monday, 'IYYY"-W"IW') as week, monday::text as from, (monday + 6)::text as to, total.*,
         (select coalesce(sum(renders), 0) from each) as renders,
         (select coalesce(json_agg(c), '[]') from (
            select crawler, sum(visits)::float8 as visits from visit
             group by crawler having sum(visits) > 0 order by 2 desc, 1 limit 10) c) as crawlers,
         (select coalesce(json_agg(d), '[]') from (
            select * from each order by visits desc, domain limit 50) d) as domains
    from week, (select coalesce(sum(visits), 0)::float8 as visits,
                       coalesce(sum(visits_before), 0)::float8 as visits_before, ${HIT_RATIO} from visit) total`

/** The 50 domains with the most visits, and the 10 crawlers. `week` null: the last whole one. Null: no such week. */
export async function readReport(
  db: Queryable,
  account: AccountId,
  week: string | null,
): Promise<Report | null> {
  const { rows } = await db.query<Report>(REPORT, [account, week, [...FAILING, 'challenge', 'shrunk']])
  const report = rows[0]!
  // PostgreSQL takes a week 54 as one of the next year.
  return week === null || report.week === week ? report : null
}

/** On Mondays from 06:00 UTC, until Tuesday noon: once for each account with visits that wants it. `now`: for tests. */
export async function recordReports(pool: pg.Pool, now: Date | null = null): Promise<void> {
  const { rows } = await pool.query<{ id: AccountId; week: string; key: string }>(
    `with clock as (select coalesce($1, now()) at time zone 'UTC' as at),
          week as (select date_trunc('week', at)::date as monday from clock
                    where at - date_trunc('week', at) between interval '6 hours' and interval '36 hours')
     select a.id, to_char(w.monday - 7, 'IYYY"-W"IW') as week, 'report ' || a.id || ' ' || w.monday as key
       from account a, week w
      where a.suspended_at is null
        and exists (select from channel c where c.account_id = a.id and c.state = 'confirmed' and 'report.weekly' = any (c.events))
        and not exists (select from event e where e.key = 'report ' || a.id || ' ' || w.monday)
        and exists (select from traffic_day t join domain d on d.id = t.domain_id
                     where d.account_id = a.id and t.category <> 'people' and t.day >= w.monday - 7 and t.day < w.monday)
      order by a.id limit 100`,
    [now],
  )
  for (const { id, week, key } of rows) {
    const report = await readReport(pool, id, week)
    await pool.query(`select record_event($1, null, null, 'report.weekly', $2, $3)`, [id, key, { report }])
  }
}
