import { z } from 'zod'
import { invalidField } from '../errors.ts'
import { FORMS } from '../outcome/form.ts'
import { PAGE_VARIANTS } from '../page/page-id.ts'
import { MAX_DAYS, type TimeRange, timeRange } from '../traffic/time-range.ts'
import { apiSchema, formatParam } from './api-schema.ts'

const time = z.iso.datetime({ precision: 3 }).describe('ISO 8601 UTC timestamp with milliseconds')
const ratio = z
  .number()
  .nullable()
  .describe('Share of page requests that were `hit` or `stale`, 0 to 1; null: no requests')
const ms = z.number().nullable().describe('Milliseconds, accurate to 20 %; null: no responses')
const visits = z.array(z.number()).describe('One value for each of `times`')
const series = { visits, total: z.number() }
const kind = z
  .enum(['hit', 'stale', 'rendered', 'failed', 'soft_404', 'passed', 'sitemap'])
  .describe(
    '`failed`: a rendered page was expected, but the origin responded; `soft_404`: the page does not exist, although ' +
      'the origin says 200; `passed`: passed to the origin by rule',
  )

const moment = 'A day (`2026-11-01`) or a moment in UTC (`2026-11-01T12:00:00Z`)'

/** `rangeOf` checks the times. */
export const rangeQuery = z.object({
  from: z
    .string()
    .optional()
    .describe(
      `${moment}; extended to whole steps. Default: 24 hours before \`to\`, with \`step\` \`day\` 30 days`,
    ),
  to: z.string().optional().describe(`${moment}. Default: now`),
  step: z
    .enum(['hour', 'day'])
    .optional()
    .describe(
      `UTC hours (at most ${MAX_DAYS.hour} days) or UTC days (at most ${MAX_DAYS.day}). Default: days for more than a week`,
    ),
  format: formatParam,
})

/** Throws `invalid_field`. */
export function rangeOf(query: z.infer<typeof rangeQuery>, nowMs: number): TimeRange {
  const found = timeRange(query, nowMs)
  if ('problem' in found) throw invalidField(found.problem.path, found.problem.message)
  return found.range
}

export function rangeFields({ fromMs, toMs, step }: TimeRange) {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString(), step }
}

const rangeFieldsSchema = {
  from: time,
  to: time.describe('End, exclusive'),
  step: z.enum(['hour', 'day']),
}

export const trafficSchema = apiSchema(
  'Traffic',
  z.object({
    times: z.array(time).describe('Start of each step'),
    totals: z
      .object({
        visits: z.number(),
        pages: z.number().describe('`hit`, `stale`, `rendered` and `failed`'),
        hit: z.number(),
        stale: z.number(),
        rendered: z.number(),
        failed: z.number(),
        soft_404: z.number(),
        passed: z.number(),
        sitemap: z.number(),
        people: z.number().describe('Not part of the other totals'),
        hit_ratio: ratio,
        p50_ms: ms,
        p95_ms: ms,
      })
      .describe('Of crawlers, except `people`'),
    categories: z.array(z.object({ name: z.string(), ...series })),
    purposes: z
      .array(z.object({ name: z.string(), ...series }))
      .describe('Of AI crawlers: `training`, `search`, `user`'),
    crawlers: z
      .array(
        z.object({
          name: z.string(),
          category: z.string(),
          purpose: z.string().nullable().describe('Of an AI crawler; null: none, or unknown'),
          ...series,
        }),
      )
      .describe('By a list of known names; others are `other`'),
    verdicts: z.array(z.object({ name: z.string(), kind, ...series, p50_ms: ms, p95_ms: ms })),
    statuses: z.array(z.object({ name: z.enum(['2xx', '3xx', '4xx', '5xx', 'none']), ...series })),
    forms: z
      .array(z.object({ name: z.enum(FORMS), ...series }))
      .describe('Forms of the pages that Prepaint served'),
    variants: z
      .array(z.object({ name: z.enum(PAGE_VARIANTS), ...series }))
      .describe('Devices that the pages were rendered for which Prepaint served'),
    hit_ratio: z.array(ratio),
    p50_ms: z
      .array(ms)
      .describe('Of page requests. Hit and stale: processing time; others: until the response was sent'),
    p95_ms: z.array(ms),
    people: z.object({ ...series, p50_ms: ms, p95_ms: ms }).describe('Requests that are not from crawlers'),
  }),
)

const pathVisits = z.object({
  path: z.string(),
  visits: z.number(),
  verdict: z.string().describe('On its newest day'),
  status: z.int(),
})

export const trafficPathsSchema = apiSchema(
  'TrafficPaths',
  z.object({
    domain: z.string(),
    from: z.string().describe('The first UTC day'),
    to: z.string().describe('The last UTC day'),
    top: z.array(pathVisits).describe('Most requested by crawlers'),
    failing: z.array(pathVisits).describe('Without a rendered page, or with a status of 400 or more'),
    others: z
      .object({ top: z.number(), failing: z.number() })
      .describe('Visits to all other paths: only the 300 most visited paths of a day are counted separately'),
  }),
)

export const complianceSchema = apiSchema(
  'Compliance',
  z.object({
    domain: z.string(),
    from: time,
    to: time.describe('End, exclusive'),
    crawlers: z.array(
      z.object({
        name: z.string(),
        category: z.string(),
        purpose: z.string().nullable().describe('Of an AI crawler; null: none, or unknown'),
        visits: z.number(),
        forbidden: z.number().describe('Visits to paths that robots.txt forbids this crawler'),
        paths: z.array(z.string()).describe('Up to three of these paths'),
      }),
    ),
  }),
)

export const unrecognisedClientsSchema = apiSchema(
  'UnrecognisedClients',
  z.object({
    domain: z.string(),
    from: z.string().describe('The first UTC day'),
    to: z.string().describe('The last UTC day'),
    clients: z.array(
      z.object({
        name: z.string().describe('A word of the user agent, without its version'),
        kind: z
          .enum(['tool', 'unknown'])
          .describe('`tool`: an HTTP library, a monitor or a browser that a program drives'),
        visits: z.number(),
        user_agent: z.string().describe('The newest user agent of this name'),
        last_seen_at: time,
      }),
    ),
    others: z.number().describe('Visits by all other names: only 100 names of a day are counted separately'),
  }),
)

export const forecastSchema = z.object({
  per_day: z.number().describe('Median of the last 7 whole days'),
  days_left: z.number(),
  renders: z.int().describe('`used`, plus `per_day` for each remaining day'),
  reaches_limit_on: z.string().nullable().describe('UTC day; null: not in this month'),
})

export const monthOfRendersSchema = apiSchema(
  'MonthOfRenders',
  z.object({
    domain: z.string(),
    used: z.int(),
    limit: z.int(),
    days: z
      .array(z.object({ day: z.string(), renders: z.int() }))
      .describe('Each UTC day of the month until today'),
    forecast: forecastSchema.nullable().describe('null: no whole day yet'),
  }),
)

const share = z.object({ pages: z.number().describe('Page requests of crawlers'), hit_ratio: ratio })

const trafficSummarySchema = apiSchema(
  'TrafficSummary',
  z.object({
    domain: z.string(),
    day: share.describe('The last 24 hours'),
    week: share.describe('The last 7 days'),
    last_crawler: z.object({ name: z.string(), category: z.string(), at: time }).nullable(),
  }),
)

export const summaryWithRendersSchema = trafficSummarySchema.extend({
  renders: monthOfRendersSchema.omit({ days: true }),
})

const MOST_PATHS = 300

const USUAL_PATHS = 20

export const trafficPathsQuery = rangeQuery.omit({ step: true }).extend({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MOST_PATHS)
    .default(USUAL_PATHS)
    .describe(`Paths in each list, 1 to ${MOST_PATHS}; default ${USUAL_PATHS}`),
})

const MOST_NAMES = 100

export const unrecognisedClientsQuery = rangeQuery.pick({ from: true, to: true }).extend({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MOST_NAMES)
    .default(USUAL_PATHS)
    .describe(`Clients in the list, 1 to ${MOST_NAMES}; default ${USUAL_PATHS}`),
})

export const getTrafficAnswer = z.object({ domain: z.string(), ...rangeFieldsSchema, traffic: trafficSchema })

export const getMonthOfRendersQuery = z.object({ format: formatParam })

export const getTrafficOfAccountAnswer = z.object({ ...rangeFieldsSchema, traffic: trafficSchema })

export const listTrafficSummariesAnswer = z.object({
  domains: z.array(summaryWithRendersSchema),
})
