import { z } from 'zod'
import { apiSchema } from './api-schema.ts'

export const siteTokenSchema = apiSchema(
  'SiteToken',
  z.object({
    created_at: z.string(),
    last_used_at: z.string().nullable(),
    replaces_until: z
      .string()
      .nullable()
      .describe('The token before is valid until then; null: there is none'),
    created_by: z.string(),
  }),
)

export const siteTokenAnswer = z.object({ site_token: siteTokenSchema.nullable() })

export const createSiteTokenAnswer = z.object({
  token: z.string().describe('Shown only here'),
  replaces_until: z
    .string()
    .nullable()
    .describe('The token before is valid until then; null: there was none'),
})

export const deleteSiteTokenAnswer = z.object({ deleted: z.object({ domain: z.string() }) })
