import { ROUTES } from '../../route-map.ts'

/** The report of a month such as `2026-10`, of the sites with a tag or of all. */
export function reportPath(month: string, tag: string | null = null): string {
  const path = ROUTES.monthlyReport.replace(':month', month)
  return tag === null ? path : `${path}?${new URLSearchParams({ tag })}`
}
