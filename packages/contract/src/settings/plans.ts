import { readFileSync } from 'node:fs'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { utcMonth } from '@prepaint/runtime/clock.ts'
import { z } from 'zod'
import type { AccountId } from '../ids.ts'

const planSchema = z.strictObject({
  site_limit: z.int().min(0).nullable(),
  /** Per domain and UTC month. */
  monthly_render_limit: z.int().min(0),
  api_keys: z.boolean(),
  webhooks: z.boolean(),
})

const catalogueSchema = z
  .record(
    z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'a plan name is lower case letters, digits and _'),
    planSchema,
  )
  .refine((plans) => Object.keys(plans).length > 0, 'at least one plan is needed')

export type Plan = z.infer<typeof planSchema>
export type PlanCatalogue = Readonly<Record<string, Plan>>

export const DEFAULT_PLANS: PlanCatalogue = {
  starter: { site_limit: 1, monthly_render_limit: 1_000, api_keys: false, webhooks: false },
  pro: { site_limit: 5, monthly_render_limit: 10_000, api_keys: false, webhooks: false },
  agency: { site_limit: 25, monthly_render_limit: 50_000, api_keys: true, webhooks: false },
  agency_plus: { site_limit: 100, monthly_render_limit: 200_000, api_keys: true, webhooks: true },
  enterprise: { site_limit: null, monthly_render_limit: 1_000_000, api_keys: true, webhooks: true },
}

/** JSON: plan fields by plan name. The error names the file and every invalid field. */
export function readPlans(file: string): PlanCatalogue {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new Error(`plan catalogue ${file}: ${(cause as Error).message}`, { cause })
  }
  const parsed = catalogueSchema.safeParse(json)
  if (parsed.success) return Object.freeze(parsed.data)
  const problems = parsed.error.issues.map((issue) => {
    const words = issue.code === 'invalid_key' ? issue.issues.map(({ message }) => message) : [issue.message]
    return `${issue.path.join('.') || 'catalogue'}: ${words.join(', ')}`
  })
  throw new Error(`plan catalogue ${file}: ${problems.join('; ')}`)
}

/** For plans removed from the catalogue: accounts keep what they have. */
const NO_PLAN: Plan = { site_limit: 0, monthly_render_limit: 0, api_keys: false, webhooks: false }

/** An unknown name gives a plan that allows nothing. */
export function planNamed(plans: PlanCatalogue, name: string): Plan {
  return Object.hasOwn(plans, name) ? plans[name]! : NO_PLAN
}

/** `renders`: of all domains in the UTC month of `nowMs`. Counts active keys and tokens. */
type PlanUse = { plan: string; domains: number; renders: number; keys: number; tokens: number }

export async function readUse(db: Queryable, account: AccountId, nowMs: number): Promise<PlanUse> {
  const { rows } = await db.query<PlanUse>(
    `select a.plan,
            (select count(*)::int from domain where account_id = a.id) as domains,
            (select coalesce(sum(c.renders), 0)::int from render_count c join domain d on d.id = c.domain_id
              where d.account_id = a.id and c.month = $2) as renders,
            (select count(*)::int from api_key
              where account_id = a.id and revoked_at is null and (expires_at is null or expires_at > $3)) as keys,
            (select count(*)::int from webhook_token t join domain d on d.id = t.domain_id
              where d.account_id = a.id and t.revoked_at is null) as tokens
       from account a where a.id = $1`,
    [account, utcMonth(nowMs), new Date(nowMs)],
  )
  if (rows[0] === undefined) throw new Error('the account of this request is gone')
  return rows[0]
}
