import type pg from 'pg'

import type { PlanCatalogue } from '../../src/accounts/plans.ts'
import { createLink, hasOperator } from '../../src/accounts/sign-in/links.ts'
import type { Clock } from '../../src/clock.ts'

/**
 * Where there is no operator who can sign in: a link by which whoever reads
 * this terminal or log makes the first account. It works once, for a day; each
 * start makes a new one and ends the one before. Null: there is an operator.
 */
export async function firstAccountLine(
  deps: { pool: pg.Pool; plans: PlanCatalogue; clock: Clock },
  baseUrl: string,
): Promise<string | null> {
  const { pool, plans, clock } = deps
  if (await hasOperator(pool)) return null
  const { token } = await createLink(pool, plans, { kind: 'first', plan: largestPlan(plans) }, clock.nowMs())
  return `Nobody can sign in to the dashboard yet. Make the operator's account: ${welcomeUrl(baseUrl, token)} (works once, for a day)`
}

/** The token stands where no server sees it and no log keeps it. */
export function welcomeUrl(baseUrl: string, token: string): string {
  return `${baseUrl}/welcome#${token}`
}

/** With the most sites, and of those with the most renders. */
function largestPlan(plans: PlanCatalogue): string {
  const sites = (name: string) => plans[name]?.site_limit ?? Number.POSITIVE_INFINITY
  const renders = (name: string) => plans[name]?.monthly_render_limit ?? 0
  const [largest = ''] = Object.keys(plans).toSorted((a, b) =>
    sites(a) === sites(b) ? renders(b) - renders(a) : sites(b) - sites(a),
  )
  return largest
}
