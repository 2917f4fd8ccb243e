import { z } from 'zod'
import { apiSchema } from './api-schema.ts'

export const roleSchema = z
  .enum(['owner', 'operator'])
  .describe('`operator`: may see and change all accounts')

export const meSchema = apiSchema(
  'Me',
  z.object({
    email: z.string(),
    role: roleSchema,
    plan: z.object({
      name: z.string(),
      site_limit: z.int().nullable().describe('null: unlimited'),
      monthly_render_limit: z.int().describe('For each domain'),
      api_keys: z.boolean(),
      webhooks: z.boolean(),
    }),
  }),
)

export type Me = z.infer<typeof meSchema>

export const passwordSchema = z.string().min(1).max(1_000)
export const emailSchema = z.string().min(1).max(254)
