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

/** `2026-W47` (ISO 8601) as the date of its Monday; null: no such week. */
export function mondayOf(week: string): string | null {
  const [, year = '', number = ''] = /^(\d{4})-W(\d{2})$/.exec(week) ?? []
  const fourth = Date.UTC(Number(year), 0, 4)
  const firstMonday = fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * DAY_MS
  const monday = firstMonday + (Number(number) - 1) * 7 * DAY_MS
  if (year === '' || Number(number) < 1 || weekOf(monday) !== week) return null
  return new Date(monday).toISOString().slice(0, 10)
}

const DAY_MS = 86_400_000

/** The ISO week of a time, in UTC. */
export function weekOf(atMs: number): string {
  const thursday = new Date(atMs + (3 - ((new Date(atMs).getUTCDay() + 6) % 7)) * DAY_MS)
  const year = thursday.getUTCFullYear()
  const number = Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * DAY_MS)) + 1
  return `${year}-W${String(number).padStart(2, '0')}`
}

/** Of requests for pages; null: none. */
const hitRatio = (since: string) =>
  `round(sum(visits) filter (where ${since} and verdict in ('hit', 'stale'))::numeric
         / nullif(sum(visits) filter (where ${since} and is_for_page(category, verdict)), 0), 4)::float8 as hit_ratio`

/** `monday`: a date. The 50 domains with the most visits, and the 10 crawlers. */
export async function readReport(db: Queryable, account: AccountId, monday: string): Promise<Report> {
  const values = [account, monday]
  const total = await db.query<Pick<Report, 'visits' | 'visits_before' | 'hit_ratio' | 'renders'>>(
    `select coalesce(sum(visits) filter (where day >= $2::date), 0)::float8 as visits,
            coalesce(sum(visits) filter (where day < $2::date), 0)::float8 as visits_before,
            ${hitRatio('day >= $2::date')},
            (select coalesce(sum(r.renders), 0)::float8 from render_day r join domain d on d.id = r.domain_id
              where d.account_id = $1 and r.day >= $2::date and r.day < $2::date + 7) as renders
       from traffic_day t join domain d on d.id = t.domain_id
      where d.account_id = $1 and t.category <> 'people' and t.day >= $2::date - 7 and t.day < $2::date + 7`,
    values,
  )
  const crawlers = await db.query<Report['crawlers'][number]>(
    `select crawler, sum(visits)::float8 as visits from traffic_day t join domain d on d.id = t.domain_id
      where d.account_id = $1 and t.category <> 'people' and t.day >= $2::date and t.day < $2::date + 7
      group by crawler order by 2 desc, 1 limit 10`,
    values,
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
           from traffic_day where domain_id = d.id and category <> 'people' and day >= $2::date and day < $2::date + 7) t on true
      where d.account_id = $1 order by t.visits desc, d.custom_domain limit 50`,
    [...values, [...FAILING, 'challenge', 'shrunk']],
  )
  const from = Date.parse(monday)
  return {
    week: weekOf(from),
    from: monday,
    to: new Date(from + 6 * DAY_MS).toISOString().slice(0, 10),
    ...total.rows[0]!,
    crawlers: crawlers.rows,
    domains: domains.rows,
  }
}

/** On Mondays from 06:00 UTC, until Tuesday noon: once for each account with visits that wants it. `now`: for tests. */
export async function recordReports(pool: pg.Pool, now: Date | null = null): Promise<void> {
  const { rows } = await pool.query<{ id: AccountId; monday: string; key: string }>(
    `with clock as (select coalesce($1, now()) at time zone 'UTC' as at),
          week as (select date_trunc('week', at)::date as monday from clock
                    where at - date_trunc('week', at) between interval '6 hours' and interval '36 hours')
     select a.id, (w.monday - 7)::text as monday, 'report ' || a.id || ' ' || w.monday as key
       from account a, week w
      where a.suspended_at is null
        and (exists (select from recipient r where r.account_id = a.id and r.state = 'confirmed' and r.weekly_report)
             or exists (select from endpoint e where e.account_id = a.id and e.is_active and 'report.weekly' = any (e.events)))
        and not exists (select from event e where e.key = 'report ' || a.id || ' ' || w.monday)
        and exists (select from traffic_day t join domain d on d.id = t.domain_id
                     where d.account_id = a.id and t.category <> 'people' and t.day >= w.monday - 7 and t.day < w.monday)
      order by a.id limit 100`,
    [now],
  )
  for (const { id, monday, key } of rows) {
    const report = await readReport(pool, id, monday)
    await pool.query(`select record_event($1, null, null, 'report.weekly', $2, $3)`, [id, key, { report }])
  }
}
