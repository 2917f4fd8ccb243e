import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import {
  type CreatedLink,
  createLink,
  hasOperator,
  welcomeUrl,
} from '@prepaint/service/accounts/sign-in/links.ts'
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
  const link = await createFirstLink(pool, plans, clock.nowMs())
  if (link === null) return null
  return `No operator can sign in to the dashboard yet. Create the operator's account: ${welcomeUrl(baseUrl, link.token)} (works once, for a day)`
}

/** Returns null if an operator can already sign in. The link before ends. */
export async function createFirstLink(
  pool: pg.Pool,
  plans: PlanCatalogue,
  nowMs: number,
): Promise<CreatedLink | null> {
  if (await hasOperator(pool)) return null
  return createLink(pool, plans, { kind: 'first', plan: largestPlan(plans) }, nowMs)
}

function largestPlan(plans: PlanCatalogue): string {
  const sites = (name: string) => plans[name]?.site_limit ?? Number.POSITIVE_INFINITY
  const renders = (name: string) => plans[name]?.monthly_render_limit ?? 0
  const [largest = ''] = Object.keys(plans).toSorted((a, b) =>
    sites(a) === sites(b) ? renders(b) - renders(a) : sites(b) - sites(a),
  )
  return largest
}
