import type pg from 'pg'
import type { Queryable } from '../../db/transaction.ts'
import type { AccountId } from '../../ids.ts'

/** A week, Monday to Sunday in UTC. */
export type Report = {
  week: string
  from: string
  to: string
  /** Requests of crawlers. */
  visits: number
  visits_before: number
  /** Of requests for pages; null: none. */
  hit_ratio: number | null
  renders: number
  crawlers: { crawler: string; visits: number }[]
  domains: {
    domain: string
    visits: number
    hit_ratio: number | null
    renders: number
    /** Pages whose last render, in this week, failed. */
    pages_failing: number
    incidents: number
    deploys: number
  }[]
}

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

const FAILING = `('origin-unreachable', 'timed-out', 'origin-error', 'site-error', 'blank', 'error-page', 'too-large', 'crashed',
  'redirect-loop', 'challenge', 'shrunk')`
const IS_HIT = `verdict in ('hit', 'stale')`

/** `monday`: a date. The 50 domains with the most visits, and the 10 crawlers. */
export async function readReport(db: Queryable, account: AccountId, monday: string): Promise<Report> {
  const values = [account, monday]
  const total = await db.query<Pick<Report, 'visits' | 'visits_before' | 'hit_ratio' | 'renders'>>(
    `select coalesce(sum(visits) filter (where day >= $2::date), 0)::float8 as visits,
            coalesce(sum(visits) filter (where day < $2::date), 0)::float8 as visits_before,
            round(sum(visits) filter (where day >= $2::date and ${IS_HIT})::numeric
                  / nullif(sum(visits) filter (where day >= $2::date and is_for_page(category, verdict)), 0), 4)::float8 as hit_ratio,
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
            (select count(*)::integer from last_render l where l.domain_id = d.id and l.outcome in ${FAILING}
                and l.ended_at >= $2::date and l.ended_at < $2::date + 7) as pages_failing,
            (select count(*)::integer from incident i
              where i.domain_id = d.id and i.opened_at >= $2::date and i.opened_at < $2::date + 7) as incidents,
            (select count(*)::integer from event e where e.account_id = $1 and e.domain_id = d.id
                and e.type = 'deploy.detected' and e.created_at >= $2::date and e.created_at < $2::date + 7) as deploys
       from domain d join lateral (
         select coalesce(sum(visits), 0)::float8 as visits,
                round(sum(visits) filter (where ${IS_HIT})::numeric
                      / nullif(sum(visits) filter (where is_for_page(category, verdict)), 0), 4)::float8 as hit_ratio
           from traffic_day where domain_id = d.id and category <> 'people' and day >= $2::date and day < $2::date + 7) t on true
      where d.account_id = $1 order by t.visits desc, d.custom_domain limit 50`,
    values,
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

/** On Mondays from 06:00 UTC: once for each account with visits that wants it somewhere. */
export async function recordReports(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ id: AccountId; monday: string; key: string }>(
    `select a.id, (m.monday - 7)::text as monday, 'report ' || a.id || ' ' || m.monday as key
       from account a, (select date_trunc('week', now() at time zone 'UTC')::date as monday) m
      where now() at time zone 'UTC' >= m.monday + interval '6 hours' and now() at time zone 'UTC' < m.monday + interval '30 hours'
        and a.suspended_at is null
        and (exists (select from recipient r where r.account_id = a.id and r.state = 'confirmed' and r.weekly_report)
             or exists (select from endpoint e where e.account_id = a.id and e.is_active and 'report.weekly' = any (e.events)))
        and not exists (select from event e where e.key = 'report ' || a.id || ' ' || m.monday)
        and exists (select from traffic_day t join domain d on d.id = t.domain_id
                     where d.account_id = a.id and t.category <> 'people' and t.day >= m.monday - 7 and t.day < m.monday)
      order by a.id limit 100`,
  )
  for (const { id, monday, key } of rows) {
    const report = await readReport(pool, id, monday)
    await pool.query(`select record_event($1, null, null, 'report.weekly', $2, $3)`, [id, key, { report }])
  }
}
