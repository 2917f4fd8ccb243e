import { ROUTES } from '../../route-map.ts'

/** The report of a month such as `2026-10`: of the sites with a tag, of named sites (with commas between them), or of all. */
export function reportPath(month: string, tag: string | null = null, domains: string | null = null): string {
  const path = ROUTES.monthlyReport.replace(':month', month)
  const query = new URLSearchParams()
  if (tag !== null) query.set('tag', tag)
  if (domains !== null) query.set('domains', domains)
  return query.size === 0 ? path : `${path}?${query}`
}
