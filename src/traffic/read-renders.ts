import { utcDay, utcMonth } from '../accounts/month.ts'
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

/** One query, for all domains of the account or for one. */
export async function readRenders(
  db: Queryable,
  of: TrafficOf,
  limit: number,
  nowMs: number,
): Promise<MonthOfRenders[]> {
  const month = utcMonth(nowMs)
  const firstOfPace = utcDay(nowMs - FORECAST_DAYS * DAY_MS)
  const since = firstOfPace < month ? firstOfPace : month
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
    const pace = lastWholeDays(nowMs).filter((day) => day > born)
    return {
      domain,
      used,
      limit,
      days: daysOfMonth(nowMs).map((day) => ({ day, renders: renders(day) })),
      forecast: forecastRenders({ used, limit, days: pace.map(renders), nowMs }),
    }
  })
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
