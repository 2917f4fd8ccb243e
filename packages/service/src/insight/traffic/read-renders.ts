import { utcDay, utcMonth } from '@prepaint/contract/dates.ts'
import type { DomainName, Scope } from '@prepaint/contract/ids.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { quotaEnd } from '@prepaint/pages/quota.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

const DAY_MS = 86_400_000

export type RendersOfMonth = {
  domain: DomainName
  used: number
  limit: number
  forecast: Forecast | null
}

export type MonthOfRenders = RendersOfMonth & {
  days: { day: string; renders: number }[]
}

const RENDERS = `
  select d.custom_domain as domain, d.created_at, coalesce(c.renders, 0) as used,
         coalesce((select json_object_agg(r.day, r.renders) from render_day r
                    where r.domain_id = d.id and r.day >= $4), '{}') as days
    from domain d
    left join render_count c on c.domain_id = d.id and c.month = $3
   where d.account_id = $1 and ($2::integer[] is null or d.id = any ($2))
   order by d.custom_domain`

/** What a domain's month is made of. */
export type RenderRow = {
  domain: DomainName
  created_at: Date
  used: number
  /** Renders by UTC day, since `historyStart`. */
  days: Record<string, number>
}

/** Reads the domains by name, without days, in one query. */
export async function readMonths(
  db: Queryable,
  scope: Scope,
  limit: number,
  nowMs: number,
  plans: PlanCatalogue = {},
): Promise<RendersOfMonth[]> {
  const monthOf = months(limit, nowMs, plans)
  return (await read(db, scope, nowMs)).map(monthOf)
}

export async function readRenders(
  db: Queryable,
  owner: Scope,
  limit: number,
  nowMs: number,
  plans: PlanCatalogue = {},
): Promise<MonthOfRenders[]> {
  const monthOf = months(limit, nowMs, plans)
  const days = daysBetween(utcMonth(nowMs), nowMs)
  return (await read(db, owner, nowMs)).map((row) => ({
    ...monthOf(row),
    days: days.map(({ day }) => ({ day, renders: row.days[day] ?? 0 })),
  }))
}

async function read(db: Queryable, owner: Scope, nowMs: number): Promise<RenderRow[]> {
  const values = [owner.account, owner.domains, utcMonth(nowMs), historyStart(nowMs)]
  return (await db.query<RenderRow>({ name: 'traffic-renders', text: RENDERS, values })).rows
}

/** Skips days that ended at the limit (100 % or 120 %) of a smaller, earlier plan: they do not show demand. */
export function months(
  limit: number,
  nowMs: number,
  plans: PlanCatalogue,
): (row: RenderRow) => RendersOfMonth {
  const smaller = Object.values(plans)
    .map((plan) => plan.monthly_render_limit)
    .filter((most) => most > 0 && most < limit)
  const ends = new Set(smaller.flatMap((most) => [most, quotaEnd(most)]))
  const days = daysBetween(historyStart(nowMs), nowMs - DAY_MS)
  const before = days.length - FORECAST_DAYS

  return ({ domain, created_at, used, days: renders }) => {
    const bornMs = created_at.getTime()
    const pace: number[] = []
    let ofMonth = 0
    for (const [at, { day, startMs, isFirst }] of days.entries()) {
      const ofDay = renders[day] ?? 0
      ofMonth = isFirst ? ofDay : ofMonth + ofDay
      if (at >= before && startMs > bornMs && !ends.has(ofMonth)) pace.push(ofDay)
    }
    return { domain, used, limit, forecast: forecastRenders({ used, limit, days: pace, nowMs }) }
  }
}

/** Returns the first day of the month in which a forecast's history begins. */
export function historyStart(nowMs: number): string {
  return utcMonth(nowMs - FORECAST_DAYS * DAY_MS)
}

function daysBetween(first: string, lastMs: number): { day: string; startMs: number; isFirst: boolean }[] {
  const firstMs = Date.parse(first)
  return Array.from({ length: Math.floor((lastMs - firstMs) / DAY_MS) + 1 }, (_, at) => {
    const startMs = firstMs + at * DAY_MS
    const day = utcDay(startMs)
    return { day, startMs, isFirst: day.endsWith('-01') }
  })
}

/** A forecast is made from so many whole days. */
export const FORECAST_DAYS = 7

export type Forecast = {
  per_day: number
  /** Days left in this month, including the rest of today. */
  days_left: number
  /** Renders at the end of the month: those until now, and `per_day` for each day left. */
  renders: number
  /** The UTC day on which the limit is reached, or null if that is not in this month. */
  reaches_limit_on: string | null
}

/** `days` are renders of the last 7 whole days; without any it returns null. The median ignores a deploy that renders the whole site. */
export function forecastRenders(month: {
  used: number
  limit: number
  days: readonly number[]
  nowMs: number
}): Forecast | null {
  const { used, limit, days, nowMs } = month
  if (days.length === 0) return null
  const perDay = median(days)
  const now = new Date(nowMs)
  const endMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  const daysLeft = (endMs - nowMs) / DAY_MS
  return {
    per_day: perDay,
    days_left: Math.round(daysLeft * 100) / 100,
    renders: Math.round(used + perDay * daysLeft),
    reaches_limit_on: reachedOn(limit - used, perDay, nowMs, endMs),
  }
}

function reachedOn(left: number, perDay: number, nowMs: number, endMs: number): string | null {
  if (left <= 0) return new Date(nowMs).toISOString().slice(0, 10)
  if (perDay === 0) return null
  const atMs = nowMs + (left / perDay) * DAY_MS
  return atMs < endMs ? new Date(atMs).toISOString().slice(0, 10) : null
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const low = sorted[(sorted.length - 1) >> 1]!
  const high = sorted[sorted.length >> 1]!
  return (low + high) / 2
}
