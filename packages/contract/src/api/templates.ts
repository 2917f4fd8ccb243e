import { z } from 'zod'
import { timeSchema } from '../notifications/lists.ts'
import { domainSettingsPatchSchema } from '../settings/domain-settings.ts'
import { apiSchema } from './api-schema.ts'
import { namedDomainsSchema } from './portfolio.ts'

export const TEMPLATES_LIMIT = 50

/** Never the origin, its headers, robots texts, or how crawlers come: they belong to one site. */
const templateSettingsSchema = domainSettingsPatchSchema
  .pick({
    fresh_seconds: true,
    stale_seconds: true,
    keep_seconds: true,
    origin_cache_control: true,
    refresh_on_deploy: true,
    refresh_ahead_percent: true,
    retry_seconds: true,
    query: true,
    rules: true,
    crawlers: true,
    categories: true,
    preferences: true,
    devices: true,
    markdown: true,
    cards: true,
    soft_404: true,
    render: true,
  })
  .refine((settings) => Object.values(settings).some((value) => value !== undefined), 'must not be empty')

export type TemplateSettings = z.infer<typeof templateSettingsSchema>

const nameSchema = z.string().trim().min(1).max(100)

const templateSchema = apiSchema(
  'SettingsTemplate',
  z.object({
    id: z.int(),
    name: z.string(),
    settings: z.record(z.string(), z.unknown()).describe('Those that a domain gets. Others stay'),
    created_at: timeSchema,
    updated_at: timeSchema,
  }),
)

export type Template = z.infer<typeof templateSchema>

export const listTemplatesAnswer = z.object({ templates: z.array(templateSchema) })

export const templateBody = z.object({ name: nameSchema, settings: templateSettingsSchema })

export const templateAnswer = z.object({ template: templateSchema })

export const templateParams = z.object({ id: z.string().describe('The `id` in the list') })

export const deletedTemplateAnswer = z.object({ deleted: z.object({ id: z.int(), name: z.string() }) })

export const previewTemplateBody = z.object({ domains: namedDomainsSchema })

export const previewTemplateAnswer = z.object({
  domains: z.array(
    z.object({
      domain: z.string(),
      changes: z.array(z.object({ setting: z.string(), before: z.unknown(), after: z.unknown() })),
    }),
  ),
})
