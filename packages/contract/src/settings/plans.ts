import { z } from 'zod'

const planSchema = z.strictObject({
  site_limit: z.int().min(0).nullable(),
  /** Limits the renders of a domain in a UTC month. */
  monthly_render_limit: z.int().min(0),
  api_keys: z.boolean(),
  webhooks: z.boolean(),
})

export const planCatalogueSchema = z
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

/** Stands for a plan that was removed from the catalogue. Accounts keep what they have, and get no more. */
const NO_PLAN: Plan = { site_limit: 0, monthly_render_limit: 0, api_keys: false, webhooks: false }

/** An unknown name gives a plan that allows nothing. */
export function planNamed(plans: PlanCatalogue, name: string): Plan {
  return Object.hasOwn(plans, name) ? plans[name]! : NO_PLAN
}
