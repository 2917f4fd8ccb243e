import { monthAfter } from '@prepaint/contract/api/reports.ts'
import type { MonthlyReport } from '../../api/types.ts'
import { ROUTES } from '../../route-map.ts'

/** The report of a month such as `2026-10`: of the sites with a tag, of named sites (with commas between them), or of all. */
export function reportPath(month: string, tag: string | null = null, domains: string | null = null): string {
  const path = ROUTES.monthlyReport.replace(':month', month)
  const query = new URLSearchParams()
  if (tag !== null) query.set('tag', tag)
  if (domains !== null) query.set('domains', domains)
  return query.size === 0 ? path : `${path}?${query}`
}

type Shown = Pick<MonthlyReport, 'month' | 'months'>

/** An account that was made in this month has no whole month yet. */
export function isFirstReportAhead({ months }: Shown): boolean {
  return months.length === 1
}

const MONTH = new Intl.DateTimeFormat('en', { month: 'long', timeZone: 'UTC' })

/** When the first report of a whole month is made, such as `1 December`. */
export function firstReportDay({ months, month }: Shown): string {
  return `1 ${MONTH.format(new Date(`${monthAfter(months[0] ?? month, 1)}-01T00:00:00Z`))}`
}
