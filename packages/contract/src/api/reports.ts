import { z } from 'zod'
import { INCIDENT_KINDS } from '../notifications/kinds.ts'
import { timeSchema } from '../notifications/lists.ts'
import { apiSchema } from './api-schema.ts'
import { brandingSchema } from './branding.ts'

/** Reports are kept for so many months before the running one. */
export const REPORT_MONTHS = 25

const NO_MONTH = 'must be a month such as 2026-10'

/** Of a site's changes: what the owner changed, and what Prepaint noticed. */
export const CHANGE_KINDS = [
  'added',
  'live',
  'deploy',
  'settings',
  'rules',
  'redirects',
  'robots',
  'certificate',
] as const

export const monthlyReportQuery = z.object({
  month: z
    .string()
    .regex(/^\d{4}-(0[1-9]|1[0-2])$/, { error: NO_MONTH })
    .optional()
    .describe(
      'Such as `2026-10`, in UTC; the running one, or one of the 25 before. Default: the last whole one',
    ),
  domains: z.string().max(100_000).optional().describe('Names, separated by commas. Default: all'),
  tag: z.string().max(200).optional().describe('The domains that have it; not with `domains`'),
})

const domainSchema = z.object({
  domain: z.string(),
  visits: z.number().describe('Requests of crawlers'),
  before: z.number().describe('The same, of the whole month before; 0 if its days have expired'),
  days: z.array(z.number()).describe('The visits of each day; of the running month, until today'),
  by_crawler: z
    .array(z.object({ crawler: z.string(), category: z.string(), visits: z.number() }))
    .describe('Those with most visits first, at most 200'),
  hit_ratio: z
    .number()
    .nullable()
    .describe('The share of requests for pages that came from the cache; null: none'),
  rendered: z.number().describe('Requests for pages for which a crawler waited until the page was rendered'),
  failed: z.number().describe('Requests for pages that the origin had to answer'),
  response_ms: z.number().nullable().describe('The median of the responses to requests for pages'),
  incidents: z
    .array(
      z.object({
        kind: z.enum(INCIDENT_KINDS),
        summary: z.string(),
        since: timeSchema,
        resolved_at: timeSchema.nullable(),
      }),
    )
    .describe('All that were open in the month, newest first; at most 500'),
  top_pages: z
    .array(z.object({ path: z.string(), visits: z.number() }))
    .describe('Those that crawlers requested most, at most 10'),
  changes: z
    .array(z.object({ what: z.enum(CHANGE_KINDS), at: timeSchema }))
    .describe('Newest first; of a day the last one of each kind'),
  left_out: z
    .object({ crawlers: z.number(), incidents: z.number() })
    .describe('How many more there were than these lists take'),
})

export type DomainOfMonth = z.infer<typeof domainSchema>

export const monthlyReportAnswer = apiSchema(
  'MonthlyReport',
  z.object({
    month: z.string(),
    months: z.array(z.string()).describe('The months of which there are reports, the running one first'),
    account: z.object({ name: z.string(), branding: brandingSchema }),
    domains: z.array(domainSchema).describe('Those with most visits first'),
    summary: z.string().describe('One sentence'),
  }),
)

export type MonthlyReport = z.infer<typeof monthlyReportAnswer>

/** Returns the month (`2026-10`) so many months later. */
export function monthAfter(month: string, months: number): string {
  const [year, number] = month.split('-').map(Number) as [number, number]
  return new Date(Date.UTC(year, number - 1 + months, 1)).toISOString().slice(0, 7)
}

export function monthOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 7)
}

/** The months of which there are reports, the running one first. `sinceMs`: when the account was made. */
export function reportMonths(sinceMs: number, nowMs: number): string[] {
  const running = monthOf(nowMs)
  const first = monthOf(sinceMs)
  const months = Array.from({ length: REPORT_MONTHS + 1 }, (_, back) => monthAfter(running, -back))
  return months.filter((month) => month === running || month >= first)
}
