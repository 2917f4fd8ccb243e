import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { createLink, hasOperator } from '@prepaint/service/accounts/sign-in/links.ts'
import type pg from 'pg'

/**
 * Creates a link for the first account, which works once and for a day; each start replaces it. Returns null if an operator
 * can already sign in.
 */
export async function firstAccountLine(
  pool: pg.Pool,
  plans: PlanCatalogue,
  clock: Clock,
  baseUrl: string,
): Promise<string | null> {
  if (await hasOperator(pool)) return null
  const { token } = await createLink(pool, plans, { kind: 'first', plan: largestPlan(plans) }, clock.nowMs())
  return `No operator can sign in to the dashboard yet. Create the operator's account: ${welcomeUrl(baseUrl, token)} (works once, for a day)`
}

/** The token is in the fragment, which is not sent to servers or logged. */
export function welcomeUrl(baseUrl: string, token: string): string {
  return `${baseUrl}/welcome#${token}`
}

function largestPlan(plans: PlanCatalogue): string {
  const sites = (name: string) => plans[name]?.site_limit ?? Number.POSITIVE_INFINITY
  const renders = (name: string) => plans[name]?.monthly_render_limit ?? 0
  const [largest = ''] = Object.keys(plans).toSorted((a, b) =>
    sites(a) === sites(b) ? renders(b) - renders(a) : sites(b) - sites(a),
  )
  return largest
}
