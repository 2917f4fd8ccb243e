import { wholeQuery } from './queries.ts'
import type { MonthlyReport } from './types.ts'

/** What a report is about; null: the last whole month, and all sites. */
export type ReportFilter = { month: string | null; tag: string | null; domains: string | null }

export const monthlyReportQuery = ({ month, tag, domains }: ReportFilter) => {
  const query = new URLSearchParams()
  if (month !== null) query.set('month', month)
  if (tag !== null) query.set('tag', tag)
  if (domains !== null) query.set('domains', domains)
  return wholeQuery<MonthlyReport>(
    ['monthly-report', month ?? '', tag ?? '', domains ?? ''],
    `/api/reports/monthly?${query}`,
  )
}
