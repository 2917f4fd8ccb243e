import { z } from 'zod'

import { AppError } from '../../errors.ts'
import { MAX_DAYS, type TimeRange, timeRange } from '../../insight/traffic/time-range.ts'
import { apiSchema } from '../http/app.ts'
import { formatParam } from '../http/csv.ts'

const time = z.iso.datetime({ precision: 3 }).describe('ISO 8601 UTC timestamp with milliseconds')
const ratio = z
  .number()
  .nullable()
  .describe('Requests for pages that were hits or stale, 0 to 1; null: there were none')
const ms = z.number().nullable().describe('Milliseconds, right to within a fifth; null: nothing was answered')
const visits = z.array(z.number()).describe('In each step, along `times`')
const series = { visits, total: z.number() }
const kind = z
  .enum(['hit', 'stale', 'rendered', 'failed', 'passed', 'sitemap'])
  .describe(
    '`failed`: there was to be a finished page, and the origin had to answer; `passed`: by rule there was to be none',
  )

const moment = 'A day (`2026-11-01`) or a moment in UTC (`2026-11-01T12:00:00Z`)'

/** Query of what has a range. What is wrong with times is told by `rangeOf`. */
export const rangeQuery = z.object({
  from: z
    .string()
    .optional()
    .describe(`${moment}; widened to whole steps. Absent: 24 hours before \`to\`, in days 30`),
  to: z.string().optional().describe(`${moment}. Absent: now`),
  step: z
    .enum(['hour', 'day'])
    .optional()
    .describe(
      `UTC hours (at most ${MAX_DAYS.hour} days of them) or UTC days (at most ${MAX_DAYS.day}). Absent: days for more than a week`,
    ),
  format: formatParam,
})

/** Throws `invalid_field`, which names what is wrong. */
export function rangeOf(query: z.infer<typeof rangeQuery>, nowMs: number): TimeRange {
  const found = timeRange(query, nowMs)
  if ('problem' in found) throw new AppError('invalid_field', { word: found.problem })
  return found.range
}

/** The range of an answer, as its fields. */
export function rangeFields({ fromMs, toMs, step }: TimeRange) {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString(), step }
}

export const rangeFieldsSchema = {
  from: time,
  to: time.describe('Not part of the range any more'),
  step: z.enum(['hour', 'day']),
}

/** See `TrafficView`. */
export const trafficSchema = apiSchema(
  'Traffic',
  z.object({
    times: z.array(time).describe('Where each step begins'),
    totals: z
      .object({
        visits: z.number(),
        pages: z.number().describe('`hit`, `stale`, `rendered` and `failed`'),
        hit: z.number(),
        stale: z.number(),
        rendered: z.number(),
        failed: z.number(),
        passed: z.number(),
        sitemap: z.number(),
        people: z.number().describe('Not among the others'),
        hit_ratio: ratio,
        p50_ms: ms,
        p95_ms: ms,
      })
      .describe('Of crawlers, but for `people`'),
    categories: z.array(z.object({ name: z.string(), ...series })),
    crawlers: z
      .array(z.object({ name: z.string(), category: z.string(), ...series }))
      .describe('By names of a kept list; all others are `other`'),
    verdicts: z.array(z.object({ name: z.string(), kind, ...series, p50_ms: ms, p95_ms: ms })),
    statuses: z.array(z.object({ name: z.enum(['2xx', '3xx', '4xx', '5xx', 'none']), ...series })),
    hit_ratio: z.array(ratio),
    p50_ms: z
      .array(ms)
      .describe('Of requests for pages. Hit and stale: our own work; else until the answer had gone out'),
    p95_ms: z.array(ms),
    people: z.object({ ...series, p50_ms: ms, p95_ms: ms }).describe('Who is no crawler: people, and tools'),
  }),
)

const pathVisits = z.object({
  path: z.string(),
  visits: z.number(),
  verdict: z.string().describe('Of the newest day on which it was asked for'),
  status: z.int(),
})

export const trafficPathsSchema = apiSchema(
  'TrafficPaths',
  z.object({
    domain: z.string(),
    from: z.string().describe('The first UTC day'),
    to: z.string().describe('The last UTC day'),
    top: z.array(pathVisits).describe('What crawlers asked for most'),
    failing: z
      .array(pathVisits)
      .describe('What they got no finished page for, or a page with a status of 400 or more'),
    others: z
      .object({ top: z.number(), failing: z.number() })
      .describe('Visits to paths that are not told apart: of each day the 300 that come most often are'),
  }),
)

export const monthOfRendersSchema = apiSchema(
  'MonthOfRenders',
  z.object({
    domain: z.string(),
    used: z.int(),
    limit: z.int(),
    days: z
      .array(z.object({ day: z.string(), renders: z.int() }))
      .describe('Each UTC day of the month until today'),
    forecast: z
      .object({
        per_day: z.number().describe('Median of the last 7 whole days'),
        days_left: z.number(),
        renders: z.int().describe('`used` and `per_day` for each day that is left'),
        reaches_limit_on: z.string().nullable().describe('The UTC day; null: not in this month'),
      })
      .nullable()
      .describe('null: there was no whole day yet'),
  }),
)

const share = z.object({ pages: z.number().describe('Requests of crawlers for pages'), hit_ratio: ratio })

export const trafficSummarySchema = apiSchema(
  'TrafficSummary',
  z.object({
    domain: z.string(),
    day: share.describe('The last 24 hours'),
    week: share.describe('The last 7 days'),
    last_crawler: z.object({ name: z.string(), category: z.string(), at: time }).nullable(),
  }),
)
