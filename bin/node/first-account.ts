import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import {
  type CreatedLink,
  createLink,
  hasOperator,
  welcomeUrl,
} from '@prepaint/service/accounts/sign-in/links.ts'
import type { SsoSettings } from '@prepaint/service/accounts/sign-in/single-sign-on.ts'
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

/** As `firstAccountLine`, where single sign-on is the only way: the first operator is made by the group, or by a command. */
export async function firstOperatorLine(pool: pg.Pool, sso: SsoSettings): Promise<string | null> {
  if (await hasOperator(pool)) return null
  const how =
    sso.operatorGroup === null
      ? 'Sign in, then run: prepaint person set-operator --person E'
      : `Sign in as a member of the group ${JSON.stringify(sso.operatorGroup)}`
  return `No operator has signed in to the dashboard yet. ${how}`
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
