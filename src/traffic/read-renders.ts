import { utcDay, utcMonth } from '../accounts/month.ts'
import type { PlanCatalogue } from '../accounts/plans.ts'
import type { Queryable } from '../db/transaction.ts'
import type { DomainName } from '../ids.ts'
import { FORECAST_DAYS, type Forecast, forecastRenders } from './forecast.ts'
import type { TrafficOf } from './read-traffic.ts'

const DAY_MS = 86_400_000

/** Renders of a domain in the UTC month that runs, against what its plan allows. */
export type MonthOfRenders = {
  domain: DomainName
  used: number
  limit: number
  /** Every day of the month until today. */
  days: { day: string; renders: number }[]
  forecast: Forecast | null
}

const RENDERS = `
  select d.custom_domain as domain, d.created_at, coalesce(c.renders, 0) as used,
         coalesce((select json_object_agg(r.day, r.renders) from render_day r
                    where r.domain_id = d.id and r.day >= $4), '{}') as days
    from domain d
    left join render_count c on c.domain_id = d.id and c.month = $3
   where d.account_id = $1 and ($2::integer is null or d.id = $2)
   order by d.custom_domain`

/**
 * One query, for all domains of the account or for one. A day at whose end the
 * renders of a smaller plan of `plans` were used up, to 100 % or to 120 %, says
 * nothing of what there is to render: the account was on that one then.
 */
export async function readRenders(
  db: Queryable,
  of: TrafficOf,
  limit: number,
  nowMs: number,
  plans: PlanCatalogue = {},
): Promise<MonthOfRenders[]> {
  const month = utcMonth(nowMs)
  const since = utcMonth(nowMs - FORECAST_DAYS * DAY_MS)
  const smaller = Object.values(plans)
    .map((plan) => plan.monthly_render_limit)
    .filter((most) => most > 0 && most < limit)
  // 120 % as `takeRender` has it: while five times the renders are less than six times the limit.
  const ends = new Set(smaller.flatMap((most) => [most, Math.ceil((most * 6) / 5)]))
  const { rows } = await db.query<{
    domain: DomainName
    created_at: Date
    used: number
    days: Record<string, number>
  }>({ name: 'traffic-renders', text: RENDERS, values: [of.account, of.domain, month, since] })
  return rows.map(({ domain, created_at, used, days }) => {
    const renders = (day: string) => days[day] ?? 0
    // Of a domain that is younger than a week, the whole days that it has had.
    const born = utcDay(created_at.getTime())
    const pace = lastWholeDays(nowMs).filter((day) => day > born && !ends.has(usedUntil(day, days)))
    return {
      domain,
      used,
      limit,
      days: daysOfMonth(nowMs).map((day) => ({ day, renders: renders(day) })),
      forecast: forecastRenders({ used, limit, days: pace.map(renders), nowMs }),
    }
  })
}

/** In its month, with that day. */
function usedUntil(last: string, days: Readonly<Record<string, number>>): number {
  const ofMonth = Object.entries(days).filter(([day]) => day.slice(0, 7) === last.slice(0, 7) && day <= last)
  return ofMonth.reduce((sum, [, renders]) => sum + renders, 0)
}

function daysOfMonth(nowMs: number): string[] {
  const today = utcDay(nowMs)
  return Array.from(
    { length: Number(today.slice(8)) },
    (_, at) => `${today.slice(0, 8)}${`${at + 1}`.padStart(2, '0')}`,
  )
}

function lastWholeDays(nowMs: number): string[] {
  return Array.from({ length: FORECAST_DAYS }, (_, at) => utcDay(nowMs - (at + 1) * DAY_MS))
}
